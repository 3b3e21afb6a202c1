/** The graph of a stack: layers, colours by state; nested stacks fold out. */

import { fill, h } from "../../lib/dom.js";
import { drift, status } from "../../lib/format.js";
import { createGraph } from "../../lib/graph.js";
import { address } from "../../lib/router.js";
import { readResources } from "./resources.js";

/** Return the tab. */
export function graphTab(stack) {
  let resources = [];
  let shownText = "";
  const unfolded = new Map(); // path -> nested stack and its resources
  const details = h("aside.details", { "aria-live": "polite" }, hint());
  const graph = createGraph(showDetails, toggle);
  const element = h("section.split", {}, graph.element, details);

  function childrenOf(path) {
    const found = unfolded.get(path);
    return found ? found.resources : null;
  }

  function show() {
    const text = JSON.stringify([resources, [...unfolded]]);
    if (text === shownText) return;
    shownText = text;
    const start = performance.now();
    graph.show(resources, childrenOf, () => {
      element.dataset.drawingMs = (performance.now() - start).toFixed(1);
      element.dataset.nodes = String(graph.count());
    });
  }

  async function toggle(node) {
    if (!node.resource.nestedStack) return;
    if (unfolded.has(node.path)) {
      for (const path of unfolded.keys()) if (path === node.path || path.startsWith(`${node.path}/`)) unfolded.delete(path);
    } else {
      const nested = node.resource.nestedStack;
      unfolded.set(node.path, { nested, resources: await readResources(nested.name, nested.id) });
    }
    show();
    graph.fit();
    showDetails(node);
  }

  function showDetails(node) {
    const { resource } = node;
    const [name, id] = ownerOf(node);
    const nested = resource.nestedStack;
    fill(
      details,
      h("h2", {}, h("a", { href: address("stacks", name, id, "resources", resource.resource_name) }, node.path)),
      h("p", {}, resource.resource_type),
      h("p", {}, status(resource.resource_status), " ", drift(resource.drift_status)),
      h("p.reason", {}, resource.resource_status_reason),
      h("p", {}, resource.required_by.length ? `Required by ${resource.required_by.join(", ")}` : "Nothing requires it."),
      nested && h("p", {}, foldButton(node), " ", h("a", { href: address("stacks", nested.name, nested.id) }, "Show the nested stack")),
    );
  }

  function foldButton(node) {
    const label = unfolded.has(node.path) ? "Fold in" : "Fold out";
    return h("button", { type: "button", onclick: () => toggle(node) }, label);
  }

  function ownerOf(node) {
    const above = node.path.slice(0, Math.max(0, node.path.length - node.resource.resource_name.length - 1));
    const owner = unfolded.get(above);
    return owner ? [owner.nested.name, owner.nested.id] : [stack.name, stack.id];
  }

  return {
    element,
    async update() {
      resources = await readResources(stack.name, stack.id);
      for (const each of unfolded.values()) each.resources = await readResources(each.nested.name, each.nested.id);
      show();
    },
    close: graph.close,
  };
}

function hint() {
  return [
    h("h2", {}, "Resources"),
    h("p", {}, "What stands higher is required by what stands lower. Choose a resource to see its state."),
    h("p.muted", {}, "Drag to move, turn the wheel to zoom. Keys: arrows move, + and − zoom, 0 fits, n and p choose the next and the previous resource, Enter folds a nested stack out."),
  ];
}
