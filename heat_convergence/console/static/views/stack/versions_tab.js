/** The difference of two versions of a stack: the present one and those of its snapshots. */

import { get } from "../../lib/api.js";
import { field, fill, h } from "../../lib/dom.js";
import { currentAddress, replaceQuery } from "../../lib/router.js";
import { differenceTable } from "../difference_table.js";

const PRESENT = "present";

/** Return the tab; the address has the two versions. */
export function versionsTab(stack) {
  const chosen = { from: currentAddress().query.get("from"), to: currentAddress().query.get("to") || PRESENT };
  const selects = h("div.filters");
  const found = h("div");
  const element = h("section", {}, h("p.muted", {}, "Each snapshot keeps the template and the environment that the stack had."), selects, found);
  let shownFor = "";
  let snapshots = [];

  function select(label, name) {
    const options = [[PRESENT, "Present version"], ...snapshots.map((each) => [each.id, `Snapshot ${each.name || each.id} of ${each.creation_time}`])];
    const list = h("select", { onchange: () => choose(name, list.value) }, options.map(([id, text]) => h("option", { value: id, selected: id === chosen[name] }, text)));
    return field(label, list);
  }

  function choose(name, id) {
    chosen[name] = id;
    replaceQuery(chosen);
    shownFor = "";
    update();
  }

  async function update() {
    const now = JSON.stringify([stack.shown.updated_time, chosen]);
    if (now === shownFor) return;
    shownFor = now;
    snapshots = (await get(`${stack.path}/snapshots`)).snapshots.filter((each) => each.status === "COMPLETE");
    chosen.from = chosen.from || (snapshots.length ? snapshots[0].id : PRESENT);
    fill(selects, select("From", "from"), select("To", "to"));
    const [before, after] = await Promise.all([readVersion(stack, chosen.from), readVersion(stack, chosen.to)]);
    fill(found, differenceTable(before, after, "Difference of the versions"));
  }

  return { element, update };
}

/** Return the template and the environment of a version as one text. */
async function readVersion(stack, id) {
  if (id !== PRESENT) {
    const { data } = (await get(`${stack.path}/snapshots/${encodeURIComponent(id)}`)).snapshot;
    return asText(data.template, data.environment);
  }
  const [template, environment] = await Promise.all([get(`${stack.path}/template`), get(`${stack.path}/environment`)]);
  return asText(template, environment);
}

function asText(template, environment) {
  const used = Object.entries(environment || {}).filter(([, part]) => Object.keys(part || {}).length);
  return `Template\n${sortedText(template)}\n\nEnvironment\n${sortedText(Object.fromEntries(used))}`;
}

/** Return a document with its keys in order, since what stores it may change the order. */
function sortedText(document) {
  const isMap = (each) => each && typeof each === "object" && !Array.isArray(each);
  const sort = (_key, each) => (isMap(each) ? Object.fromEntries(Object.entries(each).sort()) : each);
  return JSON.stringify(document, sort, 2);
}
