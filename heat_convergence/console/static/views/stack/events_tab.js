/** The events of a stack and of its nested stacks, the newest first, as they come. */

import { get, query, stackOfLink } from "../../lib/api.js";
import { h, renderList, table } from "../../lib/dom.js";
import { status } from "../../lib/format.js";
import { address } from "../../lib/router.js";

const LIMIT = 200;
const DEPTH = 5;

/** Return the tab. */
export function eventsTab(stack) {
  const list = eventTable();
  const element = h("section", {}, list.element, h("p.muted", {}, `The newest ${LIMIT} events.`));
  return {
    element,
    async update() {
      const { events } = await get(`${stack.path}/events${query({ limit: LIMIT, nested_depth: DEPTH })}`);
      showEvents(list.body, stack, events);
    },
  };
}

/** Return an empty table of events. */
export function eventTable() {
  return table("Events", ["Time", "Resource", "State", "Reason"]);
}

/** Show events in the body of a table. */
export function showEvents(body, stack, events) {
  renderList(body, events, (event) => event.id, (event) => row(stack, event));
}

function row(stack, event) {
  const owner = stackOfLink(event, "stack") || stack;
  const isStack = event.physical_resource_id === owner.id;
  const target = isStack
    ? address("stacks", owner.name, owner.id)
    : address("stacks", owner.name, owner.id, "resources", event.resource_name);
  return h(
    "tr",
    {},
    h("td", {}, h("time", { datetime: event.event_time }, new Date(event.event_time).toLocaleString())),
    h("th", { scope: "row" }, h("a", { href: target }, event.resource_name)),
    h("td", {}, status(event.resource_status)),
    h("td.reason", {}, event.resource_status_reason),
  );
}
