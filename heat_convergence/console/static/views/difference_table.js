/** The difference of two texts as a table; long parts without changes are left out. */

import { difference } from "../lib/difference.js";
import { h } from "../lib/dom.js";

const CONTEXT = 3;
const MOST_ROWS = 5000;
const CLASSES = { "+": "added", "-": "removed", " ": null };
const NAMES = { "+": "added: ", "-": "removed: ", " ": "" };

/**
 * Return the table.
 * @param {string} before The first text.
 * @param {string} after The second text.
 * @param {string} caption What is compared, for screen readers.
 */
export function differenceTable(before, after, caption) {
  const lines = difference(before, after);
  const changed = lines.filter(({ sign }) => sign !== " ").length;
  if (!changed) return h("p", { role: "status" }, "There is no difference.");
  const rows = shortened(lines);
  return h(
    "div",
    {},
    h("p", { role: "status" }, `${changed} lines differ.`, rows.length > MOST_ROWS && ` The first ${MOST_ROWS} lines are shown.`),
    h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": caption },
      h("table.difference", {}, h("caption.visually-hidden", {}, caption), h("tbody", {}, rows.slice(0, MOST_ROWS).map(row))),
    ),
  );
}

/** Return the lines near changes, and the number of lines between them. */
function shortened(lines) {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ sign }, at) => {
    if (sign !== " ") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const rows = [];
  lines.forEach((line, at) => {
    if (near[at]) rows.push(line);
    else if (rows.length && rows.at(-1).hidden) rows.at(-1).hidden += 1;
    else rows.push({ hidden: 1 });
  });
  return rows;
}

function row({ sign, text, hidden }) {
  if (hidden) return h("tr", {}, h("td.muted", { colspan: "2" }, `… ${hidden} lines are the same`));
  return h(
    "tr",
    { class: CLASSES[sign] },
    h("td", {}, h("span", { "aria-hidden": "true" }, sign), h("span.visually-hidden", {}, NAMES[sign])),
    h("td", {}, h("pre", {}, text)),
  );
}
