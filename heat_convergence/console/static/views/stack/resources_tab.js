/** The resources of a stack as a table, with what unfinished ones wait for. */

import { get, query } from "../../lib/api.js";
import { h, renderList, table } from "../../lib/dom.js";
import { drift, status, time } from "../../lib/format.js";
import { address } from "../../lib/router.js";
import { readResources } from "./resources.js";

/** Return the tab. */
export function resourcesTab(stack) {
  const filter = h("input", { type: "search", placeholder: "Name or type", "aria-label": "Filter resources", oninput: () => show() });
  const list = table("Resources", ["Name", "Type", "State", "Why", "Drift", "Updated", "Required by"]);
  const element = h("section", {}, h("p", {}, filter), list.element);
  let resources = [];

  function show() {
    const text = filter.value.toLowerCase();
    const found = resources.filter((each) => `${each.resource_name}\n${each.resource_type}`.toLowerCase().includes(text));
    renderList(list.body, found, (each) => each.resource_name, (each) => row(stack, each));
  }

  return {
    element,
    async update() {
      const [found, { progress }] = await Promise.all([
        readResources(stack.name, stack.id),
        get(`${stack.path}/progress${query({ limit: "1000" })}`),
      ]);
      const waiting = new Map(progress.resources.map((each) => [each.path, each.waiting]));
      for (const each of found) each.why = (waiting.get(each.resource_name) || {}).message || "";
      resources = found;
      show();
    },
  };
}

function row(stack, resource) {
  const nested = resource.nestedStack;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: address("stacks", stack.name, stack.id, "resources", resource.resource_name) }, resource.resource_name)),
    h("td", {}, resource.resource_type, nested && [" ", h("a", { href: address("stacks", nested.name, nested.id) }, "nested stack")]),
    h("td", { title: resource.resource_status_reason }, status(resource.resource_status)),
    h("td.reason", {}, resource.why || (resource.resource_status.endsWith("FAILED") ? resource.resource_status_reason : "")),
    h("td", {}, drift(resource.drift_status)),
    h("td", {}, time(resource.updated_time)),
    h("td", {}, resource.required_by.join(", ")),
  );
}
