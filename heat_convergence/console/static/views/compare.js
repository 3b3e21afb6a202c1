/** The difference of two templates that are pasted, dropped or chosen. */

import { button, field, fill, h } from "../lib/dom.js";
import { differenceTable } from "./difference_table.js";

/** Return the view. */
export function showCompare() {
  const before = side("First template");
  const after = side("Second template");
  const found = h("div");
  const compare = () => fill(found, differenceTable(before.text.value, after.text.value, "Difference of the templates"));
  const element = h(
    "section",
    {},
    h("h1", {}, "Compare templates"),
    h("div.halves", {}, before.element, after.element),
    h("p.actions", {}, button("Compare", compare, { class: "primary" })),
    found,
  );
  return { title: "Compare templates", element };
}

function side(label) {
  const text = h("textarea", { "aria-label": label, rows: "14", spellcheck: "false", autocomplete: "off" });
  const element = h("div", {}, field(`${label}: type, paste or drop a file`, text));
  for (const name of ["dragover", "drop"]) {
    element.addEventListener(name, async (event) => {
      event.preventDefault();
      if (name === "drop" && event.dataTransfer.files.length) text.value = await event.dataTransfer.files[0].text();
    });
  }
  return { element, text };
}
