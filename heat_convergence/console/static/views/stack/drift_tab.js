/** The drift of a stack: what was applied beside what was observed. */

import { get, query } from "../../lib/api.js";
import { fill, h, renderList } from "../../lib/dom.js";
import { drift, time, valueText } from "../../lib/format.js";
import { address } from "../../lib/router.js";

/** Return the tab. */
export function driftTab(stack) {
  const summary = h("p");
  const list = h("div");
  const element = h("section", {}, summary, list);
  return {
    element,
    async update() {
      const { drift: found } = await get(`${stack.path}/drift`);
      const counts = Object.entries(found.resource_counts).filter(([, count]) => count);
      fill(
        summary,
        drift(found.drift_status),
        ` ${counts.map(([name, count]) => `${count} ${name}`).join(", ") || "No resource is read."}`,
      );
      renderList(list, found.resources, (each) => `${each.stack_id}/${each.resource_name}`, driftEntry);
    },
  };
}

/** Return a resource that has drifted. */
export function driftEntry(entry) {
  return h(
    "article.drift",
    {},
    h(
      "h2",
      {},
      h("a", { href: address("stacks", entry.stack_name, entry.stack_id, "resources", entry.resource_name) }, entry.resource_name),
      " ",
      drift(entry.drift_status),
    ),
    h("p.muted", {}, entry.resource_type, ", observed ", time(entry.observed_at), `, policy ${entry.drift_policy}`),
    entry.drift_reason && h("p.reason", {}, entry.drift_reason),
    entry.properties.length > 0 && comparison(entry),
  );
}

function comparison(entry) {
  return h(
    "table.compared",
    {},
    h("caption.visually-hidden", {}, `Properties of ${entry.resource_name} that differ`),
    h("thead", {}, h("tr", {}, ["Property", "Desired", "Observed"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, entry.properties.map((each) =>
      h("tr", {},
        h("th", { scope: "row" }, each.property),
        h("td.removed", {}, h("pre", {}, valueText(each.applied))),
        h("td.added", {}, h("pre", {}, valueText(each.observed)))))),
  );
}

/** Return the entries of the drift of the project, a page of them. */
export async function readProjectDrift(marker) {
  return get(`/drift${query({ limit: "100", marker })}`);
}
