/** The timeline of the present action: when each resource began and ended, and the critical path. */

import { get, query } from "../../lib/api.js";
import { h, renderList, table } from "../../lib/dom.js";
import { duration, secondsBetween, status, statusClass } from "../../lib/format.js";
import { address } from "../../lib/router.js";
import { readResources } from "./resources.js";

const MOST_EVENTS = 5000;
const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 600;

/** Return the tab. */
export function timelineTab(stack) {
  const list = table("Timeline", ["Resource", "Time", "State", "Duration"]);
  const summary = h("p", { role: "status" });
  const element = h("section", {}, summary, list.element);
  return {
    element,
    async update() {
      const [{ events }, resources] = await Promise.all([
        get(`${stack.path}/events${query({ limit: MOST_EVENTS })}`),
        readResources(stack.name, stack.id),
      ]);
      const bars = toBars(stack, events.reverse());
      const critical = criticalPath(bars, resources);
      for (const bar of bars) bar.isCritical = critical.has(bar.name);
      const from = Math.min(...bars.map((bar) => bar.from));
      const to = Math.max(...bars.map((bar) => bar.to), from + 1);
      const slowest = bars.reduce((most, bar) => (most && most.to - most.from >= bar.to - bar.from ? most : bar), null);
      summary.textContent = slowest
        ? `${duration((to - from) / 1000)} so far; the longest is ${slowest.name} with ${duration((slowest.to - slowest.from) / 1000)}. ★ marks the critical path: what the last resource waited for longest.`
        : "Nothing has begun in the present action.";
      renderList(list.body, bars.map((bar) => ({ ...bar, start: from, end: to })), (bar) => bar.name, (bar) => row(stack, bar));
    },
  };
}

/** Return the resources of the newest action with the times at which they began and ended. */
function toBars(stack, events) {
  const starts = events.map((event, index) => [event, index])
    .filter(([event]) => event.physical_resource_id === stack.id && event.resource_status.endsWith("IN_PROGRESS"));
  const first = starts.length ? starts.at(-1)[1] : 0;
  const bars = new Map();
  for (const event of events.slice(first)) {
    if (event.physical_resource_id === stack.id) continue;
    const at = Date.parse(event.event_time);
    const bar = bars.get(event.resource_name) || { name: event.resource_name, from: at };
    bar.status = event.resource_status;
    bar.to = statusClass(event.resource_status) === "progress" ? Date.now() : at;
    bars.set(event.resource_name, bar);
  }
  return [...bars.values()].sort((a, b) => a.from - b.from || (a.name < b.name ? -1 : 1));
}

/**
 * Return the names on the critical path: the resource that ended last, what it waited for that ended
 * last, and so on. A resource waits for what it requires; in a deletion, for what requires it.
 */
function criticalPath(bars, resources) {
  const byName = new Map(bars.map((bar) => [bar.name, bar]));
  const isDeletion = bars.every((bar) => bar.status.startsWith("DELETE"));
  const awaited = new Map();
  for (const { resource_name: name, required_by: users } of resources) {
    for (const user of users) {
      const [first, second] = isDeletion ? [user, name] : [name, user];
      if (byName.has(first)) awaited.set(second, later(awaited.get(second), byName.get(first)));
    }
  }
  const path = new Set();
  let bar = bars.reduce(later, undefined);
  while (bar && !path.has(bar.name)) {
    path.add(bar.name);
    bar = awaited.get(bar.name);
  }
  return path;
}

function later(one, other) {
  return one && one.to >= other.to ? one : other;
}

function row(stack, bar) {
  const seconds = secondsBetween(new Date(bar.from), new Date(bar.to));
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: address("stacks", stack.name, stack.id, "resources", bar.name) }, bar.name), bar.isCritical && " ★"),
    h("td.bar", {}, drawBar(bar)),
    h("td", {}, status(bar.status)),
    h("td", {}, duration(seconds)),
  );
}

function drawBar(bar) {
  const scale = WIDTH / (bar.end - bar.start);
  const picture = document.createElementNS(NAMESPACE, "svg");
  picture.setAttribute("viewBox", `0 0 ${WIDTH} 14`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  const rectangle = document.createElementNS(NAMESPACE, "rect");
  const values = { x: (bar.from - bar.start) * scale, y: 2, height: 10, width: Math.max(3, (bar.to - bar.from) * scale) };
  for (const [name, value] of Object.entries(values)) rectangle.setAttribute(name, String(value));
  rectangle.setAttribute("class", statusClass(bar.status));
  picture.append(rectangle);
  return picture;
}
