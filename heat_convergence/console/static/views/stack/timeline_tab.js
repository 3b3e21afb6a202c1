/** The timeline of the present action: when each resource began and ended, and the critical path. */

import { get, query } from "../../lib/api.js";
import { button, field, h, renderList, table } from "../../lib/dom.js";
import { duration, secondsBetween, status, statusClass } from "../../lib/format.js";
import { address, currentAddress, replaceQuery } from "../../lib/router.js";
import { readResources } from "./resources.js";

const MOST_EVENTS = 5000;
const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const STEPS = 1000; // of the slider of moments

/** Return the tab; the address has the moment that is shown, if it is not the present. */
export function timelineTab(stack) {
  const list = table("Timeline", ["Resource", "Time", "State", "Duration"]);
  const summary = h("p", { role: "status" });
  const slider = h("input", { type: "range", min: "0", max: String(STEPS), oninput: () => choose(Number(slider.value)) });
  const present = button("Present", () => choose(STEPS));
  const element = h("section", {}, summary, h("div.filters", {}, field("Moment", slider), h("p", {}, present)), list.element);
  let moment = Date.parse(currentAddress().query.get("at")) || null;
  let events = [];
  let resources = [];

  function choose(step) {
    const [from, to] = span(toBars(stack, events, Date.now()));
    moment = step >= STEPS ? null : from + Math.floor(((to - from) * step) / STEPS);
    replaceQuery({ at: moment && new Date(moment).toISOString() });
    show();
  }

  function show() {
    const [from, to] = span(toBars(stack, events, Date.now()));
    const past = moment === null ? events : events.filter((event) => Date.parse(event.event_time) <= moment);
    const bars = toBars(stack, past, moment === null ? Date.now() : moment);
    const critical = criticalPath(bars, resources);
    for (const bar of bars) bar.isCritical = critical.has(bar.name);
    slider.value = String(moment === null ? STEPS : ((moment - from) * STEPS) / (to - from));
    summary.textContent = summaryText(bars, (moment === null ? to : moment) - from, moment);
    renderList(list.body, bars.map((bar) => ({ ...bar, start: from, end: to })), (bar) => bar.name, (bar) => row(stack, bar));
  }

  return {
    element,
    async update() {
      const [found, read] = await Promise.all([
        get(`${stack.path}/events${query({ limit: MOST_EVENTS })}`),
        readResources(stack.name, stack.id),
      ]);
      events = found.events.reverse();
      resources = read;
      show();
    },
  };
}

function span(bars) {
  const from = Math.min(...bars.map((bar) => bar.from), Date.now());
  return [from, Math.max(...bars.map((bar) => bar.to), from + 1)];
}

function summaryText(bars, passed, moment) {
  const slowest = bars.reduce((most, bar) => (most && most.to - most.from >= bar.to - bar.from ? most : bar), null);
  if (!slowest) return "Nothing has begun in the present action.";
  const when = moment === null ? "" : `At ${new Date(moment).toLocaleString()}: `;
  const longest = `the longest is ${slowest.name} with ${duration((slowest.to - slowest.from) / 1000)}`;
  return `${when}${duration(passed / 1000)} so far; ${longest}. ★ marks the critical path: what the last resource waited for longest.`;
}

/** Return the resources of the newest action with the times at which they began and ended. */
function toBars(stack, events, now) {
  const starts = events.map((event, index) => [event, index])
    .filter(([event]) => event.physical_resource_id === stack.id && event.resource_status.endsWith("IN_PROGRESS"));
  const first = starts.length ? starts.at(-1)[1] : 0;
  const bars = new Map();
  for (const event of events.slice(first)) {
    if (event.physical_resource_id === stack.id) continue;
    const at = Date.parse(event.event_time);
    const bar = bars.get(event.resource_name) || { name: event.resource_name, from: at };
    bar.status = event.resource_status;
    bar.to = statusClass(event.resource_status) === "progress" ? now : at;
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
