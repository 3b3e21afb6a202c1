/** The difference of two templates that are pasted, dropped or chosen. */

import { button, field, fill, h } from "../lib/dom.js";
import { largeText } from "../lib/large_text.js";
import { differenceTable } from "./difference_table.js";

/** Return the view. */
export function showCompare() {
  const before = side("First template");
  const after = side("Second template");
  const found = h("div");
  const compare = () => fill(found, differenceTable(before.value(), after.value(), "Difference of the templates"));
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
  const large = largeText(text);
  const element = h("div", {}, field(`${label}: type, paste or drop a file`, text), large.note);
  for (const name of ["dragover", "drop"]) {
    element.addEventListener(name, async (event) => {
      event.preventDefault();
      const [file] = name === "drop" ? event.dataTransfer.files : [];
      if (file) large.set(await file.text(), file.name);
    });
  }
  return { element, value: large.value };
}
