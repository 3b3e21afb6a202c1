/**
 * Drawing of the graph on a canvas, so that 2,000 nodes are fluid: what is not visible is left out,
 * and from far away nodes are plain rectangles, drawn colour by colour, and edges straight hairlines.
 */

import { NODE } from "./layout.js";
import { statusClass } from "./format.js";

const READABLE = 0.35; // the least scale with texts
const SYMBOLS = { progress: "◐", complete: "●", failed: "✖", none: "○" };
const NAMES = ["text", "muted", "line", "surface", "raised", "accent", "progress", "complete", "failed", "none"];

/** Return the colours of the page's present scheme. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * Draw the graph.
 * @param {CanvasRenderingContext2D} context Of the canvas.
 * @param {{nodes: Array, edges: Array}} graph Flattened layout.
 * @param {{x: number, y: number, scale: number, width: number, height: number}} view What is area.
 * @param {object} colours Colours by name.
 * @param {?string} selected Path of the selected node.
 */
export function paint(context, graph, view, colours, selected) {
  const ratio = devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  const area = {
    left: -view.x / view.scale,
    top: -view.y / view.scale,
    right: (view.width - view.x) / view.scale,
    bottom: (view.height - view.y) / view.scale,
  };
  const visible = graph.nodes.filter((node) => overlaps(node, area));
  for (const node of visible) if (node.inner) paintBox(context, node, colours);
  paintEdges(context, graph.edges, area, colours, { selected, scale: view.scale });
  if (view.scale > READABLE) for (const node of visible) paintNode(context, node, colours, node.path === selected);
  else paintFar(context, visible, colours, selected);
}

/** Draw nodes without texts; a change of the colour costs more than a rectangle. */
function paintFar(context, nodes, colours, selected) {
  const byKind = new Map();
  for (const node of nodes) {
    if (node.inner) continue;
    const kind = statusClass(node.resource.resource_status);
    if (!byKind.has(kind)) byKind.set(kind, []);
    byKind.get(kind).push(node);
  }
  for (const [kind, found] of byKind) {
    context.fillStyle = colours[kind];
    for (const { x, y, width, height } of found) context.fillRect(x, y, width, height);
  }
  for (const node of nodes) if (node.inner || node.path === selected) paintNode(context, node, colours, node.path === selected);
}

function overlaps(node, area) {
  return (
    node.x < area.right && node.x + node.width > area.left && node.y < area.bottom && node.y + node.height > area.top
  );
}

function paintBox(context, node, colours) {
  context.fillStyle = colours.raised;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.fillRect(node.x, node.y, node.width, node.height);
  context.strokeRect(node.x, node.y, node.width, node.height);
}

function paintEdges(context, edges, area, colours, { selected, scale }) {
  const near = [];
  const traceEdge = scale > READABLE ? trace : traceFar;
  context.strokeStyle = colours.line;
  context.lineWidth = scale > READABLE ? 1.2 : 1 / scale;
  context.beginPath();
  for (const edge of edges) {
    const { from, to } = edge;
    if (Math.min(from.y, to.y) > area.bottom || Math.max(from.y + from.height, to.y + to.height) < area.top) continue;
    if (Math.min(from.x, to.x) > area.right || Math.max(from.x + from.width, to.x + to.width) < area.left) continue;
    if (selected !== null && (from.path === selected || to.path === selected)) near.push(edge);
    else traceEdge(context, edge);
  }
  context.stroke();
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  context.beginPath();
  for (const edge of near) trace(context, edge);
  context.stroke();
}

function traceFar(context, { from, to }) {
  context.moveTo(from.x + from.width / 2, from.y + from.height);
  context.lineTo(to.x + to.width / 2, to.y);
}

function trace(context, { from, to }) {
  const x1 = from.x + from.width / 2;
  const y1 = from.y + from.height;
  const x2 = to.x + to.width / 2;
  context.moveTo(x1, y1);
  const bend = Math.max(16, (to.y - y1) / 2);
  context.bezierCurveTo(x1, y1 + bend, x2, to.y - bend, x2, to.y);
}

function paintNode(context, node, colours, isSelected) {
  const kind = statusClass(node.resource.resource_status);
  const height = node.inner ? NODE.title : node.height;
  if (!node.inner) {
    context.fillStyle = colours.surface;
    context.fillRect(node.x, node.y, node.width, height);
  }
  context.fillStyle = colours[kind];
  context.fillRect(node.x, node.y, 6, height);
  context.strokeStyle = isSelected ? colours.accent : colours[kind];
  context.lineWidth = isSelected ? 3 : 1.2;
  context.strokeRect(node.x, node.y, node.width, node.height);
  context.fillStyle = colours.text;
  context.font = "600 13px system-ui, sans-serif";
  const fold = node.resource.nestedStack ? (node.inner ? "▾ " : "▸ ") : "";
  context.fillText(clip(context, `${SYMBOLS[kind]} ${fold}${node.resource.resource_name}`, node.width - 20), node.x + 13, node.y + 18);
  if (node.inner) return;
  context.fillStyle = colours.muted;
  context.font = "11px system-ui, sans-serif";
  context.fillText(clip(context, node.resource.resource_type, node.width - 20), node.x + 13, node.y + 35);
}

const clipped = new Map();

/** Return a text that fits, with an ellipsis if it was cut; measuring is slow, so it is kept. */
function clip(context, text, width) {
  const key = `${context.font}|${width}|${text}`;
  let found = clipped.get(key);
  if (found === undefined) {
    found = text;
    while (found.length > 1 && context.measureText(found).width > width) {
      found = `${found.slice(0, Math.max(1, Math.floor(found.length * 0.92) - 1))}…`.replace(/…+$/, "…");
    }
    if (clipped.size > 20000) clipped.clear();
    clipped.set(key, found);
  }
  return found;
}
