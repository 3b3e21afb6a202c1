/** The graph as a widget: pan, zoom, selection by pointer and keyboard. */

import { button, h } from "./dom.js";
import { flatten, layout } from "./layout.js";
import { paint, readColours } from "./painter.js";

const STEP = 60;
const LEAST = 0.05;
const MOST = 3;

/**
 * Return the widget.
 * @param {function} onSelect Called with a node that was chosen.
 * @param {function} onOpen Called with a node that was chosen twice, or by Enter.
 */
export function createGraph(onSelect, onOpen) {
  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "graph",
    "aria-label": "Graph of the resources. The list of resources says the same as text.",
  });
  const context = canvas.getContext("2d");
  const view = { x: 20, y: 20, scale: 1, width: 0, height: 0 };
  const element = h(
    "div.graph",
    {},
    canvas,
    h(
      "div.tools",
      { role: "group", "aria-label": "Zoom" },
      button("+", () => zoom(1.25), { "aria-label": "Zoom in" }),
      button("−", () => zoom(0.8), { "aria-label": "Zoom out" }),
      button("Fit", () => fit()),
    ),
  );
  let graph = { nodes: [], edges: [] };
  let size = { width: 0, height: 0 };
  let colours = readColours();
  let selected = null;
  let requested = false;
  let fitted = false;
  let onDrawn = null;

  function draw() {
    if (requested) return;
    requested = true;
    requestAnimationFrame(() => {
      requested = false;
      const start = performance.now();
      paint(context, graph, view, colours, selected);
      canvas.dataset.paintMs = (performance.now() - start).toFixed(2); // for tests
      if (onDrawn) onDrawn();
      onDrawn = null;
    });
  }

  function resize() {
    const ratio = devicePixelRatio || 1;
    view.width = canvas.clientWidth;
    view.height = canvas.clientHeight;
    canvas.width = Math.round(view.width * ratio);
    canvas.height = Math.round(view.height * ratio);
    if (!fitted) fit();
    draw();
  }

  function zoom(factor, x = view.width / 2, y = view.height / 2) {
    const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    draw();
  }

  function fit() {
    if (!view.width || !size.width) return;
    fitted = true;
    const scale = Math.min((view.width - 40) / size.width, (view.height - 40) / size.height, 1.2);
    view.scale = Math.max(LEAST, scale);
    view.x = (view.width - size.width * view.scale) / 2;
    view.y = 20;
    draw();
  }

  function nodeAt(x, y) {
    const px = (x - view.x) / view.scale;
    const py = (y - view.y) / view.scale;
    return graph.nodes.findLast(
      (node) => px >= node.x && px <= node.x + node.width && py >= node.y && py <= node.y + node.height,
    );
  }

  function select(node) {
    selected = node ? node.path : null;
    if (node) onSelect(node);
    draw();
  }

  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    grip = { x: event.clientX, y: event.clientY, left: view.x, top: view.y, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const dx = event.clientX - grip.x;
    const dy = event.clientY - grip.y;
    grip.moved = grip.moved || Math.abs(dx) + Math.abs(dy) > 4;
    if (!grip.moved) return;
    view.x = grip.left + dx;
    view.y = grip.top + dy;
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (grip && !grip.moved) select(nodeAt(event.offsetX, event.offsetY));
    grip = null;
  });
  canvas.addEventListener("pointercancel", () => {
    grip = null;
  });
  canvas.addEventListener("dblclick", (event) => {
    const node = nodeAt(event.offsetX, event.offsetY);
    if (node) onOpen(node);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.12 : 0.89, event.offsetX, event.offsetY);
    },
    { passive: false },
  );
  const moves = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moves[event.key];
    const node = graph.nodes.find((each) => each.path === selected);
    if (move) {
      view.x += move[0];
      view.y += move[1];
    } else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else if (event.key === "n" || event.key === "p") {
      const step = event.key === "n" ? 1 : -1;
      const at = graph.nodes.indexOf(node) + step;
      select(graph.nodes[(at + graph.nodes.length) % graph.nodes.length]);
    } else if (event.key === "Enter" && node) onOpen(node);
    else return;
    event.preventDefault();
    draw();
  });

  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const onScheme = () => {
    colours = readColours();
    draw();
  };
  scheme.addEventListener("change", onScheme);
  const observer = new ResizeObserver(resize);
  observer.observe(canvas);

  return {
    element,
    /** Show resources, and call `drawn` after that; the place and the zoom remain. */
    show(resources, childrenOf, drawn) {
      onDrawn = drawn;
      const found = layout(resources, childrenOf);
      size = found;
      graph = flatten(found);
      if (!fitted) fit();
      draw();
    },
    fit,
    /** Select the node with a path. */
    selectPath(path) {
      selected = path;
      draw();
    },
    /** Number of nodes, for tests. */
    count: () => graph.nodes.length,
    close() {
      observer.disconnect();
      scheme.removeEventListener("change", onScheme);
    },
  };
}
