/** The template, the environment and the files of a stack. */

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { documentBlock } from "../../lib/format.js";

/** Return the tab. */
export function templateTab(stack) {
  const element = h("section", {});
  let readFor = null;
  return {
    element,
    async update() {
      const now = stack.shown.updated_time || stack.shown.creation_time;
      if (readFor === now) return;
      const [template, environment, files] = await Promise.all(
        ["template", "environment", "files"].map((part) => get(`${stack.path}/${part}`)),
      );
      readFor = now;
      fill(
        element,
        h("h2", {}, "Template"),
        documentBlock(template, "Template"),
        h("h2", {}, "Environment"),
        documentBlock(environment, "Environment"),
        Object.entries(files).map(([name, text]) =>
          h("details", {}, h("summary", {}, name), documentBlock(text, name))),
      );
    },
  };
}
