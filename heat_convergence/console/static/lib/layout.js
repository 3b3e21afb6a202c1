/**
 * Places of resources in the graph: layers from those that need nothing downwards.
 *
 * Pure functions of resources; a nested stack that is folded out is a box with a layout of its own.
 */

export const NODE = { width: 168, height: 44, gapX: 18, gapY: 46, padding: 16, title: 26 };

/**
 * Return the layout of a stack.
 * @param {Array} resources Resources of the stack as the API lists them.
 * @param {function} childrenOf Returns the resources of a resource's nested stack if it is folded
 *     out, else null.
 * @param {string} prefix Path of the stack's resource, with a slash at its end.
 * @returns {{nodes: Array, edges: Array, width: number, height: number}} Nodes have `x` and `y`
 *     within the box, `width`, `height`, `layer`, `resource`, `path` and `inner`; edges have the
 *     two nodes `from` (what is required) and `to`.
 */
export function layout(resources, childrenOf, prefix = "") {
  const nodes = resources.map((resource) => newNode(resource, childrenOf, prefix));
  const byName = new Map(nodes.map((node) => [node.resource.resource_name, node]));
  const edges = [];
  for (const node of nodes) {
    for (const name of node.resource.required_by || []) {
      const user = byName.get(name);
      if (user && user !== node) edges.push({ from: node, to: user });
    }
  }
  assignLayers(nodes, edges);
  const rows = orderRows(nodes, edges);
  return { nodes, edges, ...place(rows) };
}

function newNode(resource, childrenOf, prefix) {
  const path = `${prefix}${resource.resource_name}`;
  const children = childrenOf(path, resource);
  const inner = children ? layout(children, childrenOf, `${path}/`) : null;
  const node = { resource, path, inner, width: NODE.width, height: NODE.height, layer: 0, x: 0, y: 0 };
  if (inner) {
    node.width = Math.max(NODE.width, inner.width + 2 * NODE.padding);
    node.height = inner.height + 2 * NODE.padding + NODE.title;
  }
  return node;
}

/** Set the layer of each node: one below the deepest that it requires. */
function assignLayers(nodes, edges) {
  const waiting = new Map(nodes.map((node) => [node, 0]));
  const users = new Map(nodes.map((node) => [node, []]));
  for (const { from, to } of edges) {
    waiting.set(to, waiting.get(to) + 1);
    users.get(from).push(to);
  }
  const ready = nodes.filter((node) => waiting.get(node) === 0);
  for (let at = 0; at < ready.length; at += 1) {
    for (const user of users.get(ready[at])) {
      user.layer = Math.max(user.layer, ready[at].layer + 1);
      waiting.set(user, waiting.get(user) - 1);
      if (waiting.get(user) === 0) ready.push(user);
    }
  }
}

/** Return rows of nodes; a node stands near the middle of what it requires. */
function orderRows(nodes, edges) {
  const layers = [];
  for (const node of nodes) (layers[node.layer] = layers[node.layer] || []).push(node);
  const required = new Map();
  for (const { from, to } of edges) {
    if (!required.has(to)) required.set(to, []);
    required.get(to).push(from);
  }
  for (const layer of layers) {
    for (const node of layer) node.position = middle(required.get(node));
    layer.sort((a, b) => a.position - b.position || (a.path < b.path ? -1 : 1));
    layer.forEach((node, index) => {
      node.share = (index + 0.5) / layer.length;
    });
  }
  const longest = Math.max(6, Math.ceil(Math.sqrt(nodes.length) * 1.4));
  return layers.flatMap((layer) => chunks(layer, longest));
}

function middle(nodes) {
  if (!nodes) return 0.5;
  return nodes.reduce((sum, node) => sum + node.share, 0) / nodes.length;
}

function chunks(items, size) {
  const found = [];
  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));
  return found;
}

function place(rows) {
  const widthOf = (row) => row.reduce((sum, node) => sum + node.width + NODE.gapX, -NODE.gapX);
  const width = Math.max(0, ...rows.map(widthOf));
  let y = 0;
  for (const row of rows) {
    let x = (width - widthOf(row)) / 2;
    for (const node of row) {
      node.x = x;
      node.y = y;
      x += node.width + NODE.gapX;
    }
    y += Math.max(...row.map((node) => node.height)) + NODE.gapY;
  }
  return { width, height: Math.max(0, y - NODE.gapY) };
}

/** Return all nodes with their place in the whole picture, boxes before what they hold. */
export function flatten(graph, left = 0, top = 0) {
  const nodes = [];
  const edges = [];
  const places = new Map();
  for (const node of graph.nodes) {
    const placed = { ...node, x: node.x + left, y: node.y + top };
    places.set(node, placed);
    nodes.push(placed);
    if (node.inner) {
      const below = flatten(node.inner, placed.x + NODE.padding, placed.y + NODE.padding + NODE.title);
      nodes.push(...below.nodes);
      edges.push(...below.edges);
    }
  }
  for (const { from, to } of graph.edges) edges.push({ from: places.get(from), to: places.get(to) });
  return { nodes, edges };
}
