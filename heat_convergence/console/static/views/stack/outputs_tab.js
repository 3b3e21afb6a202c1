/** The outputs and the parameters of a stack. */

import { get } from "../../lib/api.js";
import { h, renderList, table } from "../../lib/dom.js";
import { documentBlock } from "../../lib/format.js";

/** Return the tab. */
export function outputsTab(stack) {
  const outputs = table("Outputs", ["Output", "Value", "Description"]);
  const parameters = table("Parameters", ["Parameter", "Value"]);
  const element = h(
    "section",
    {},
    h("h2", {}, "Outputs"),
    outputs.element,
    h("h2", {}, "Parameters"),
    parameters.element,
  );
  return {
    element,
    async update() {
      const { stack: shown } = await get(stack.path);
      renderList(outputs.body, shown.outputs || [], (each) => each.output_key, outputRow);
      renderList(parameters.body, Object.entries(shown.parameters), ([name]) => name, ([name, value]) =>
        h("tr", {}, h("th", { scope: "row" }, name), h("td.value", {}, value)));
    },
  };
}

function outputRow(output) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, output.output_key),
    h("td.value", {}, output.output_error ? h("span.failed", {}, output.output_error) : documentBlock(output.output_value, output.output_key)),
    h("td", {}, output.description === "No description given" ? "" : output.description),
  );
}
