/** The drift of all stacks of the project. */

import { button, fill, h } from "../lib/dom.js";
import { notice } from "../lib/notice.js";
import { driftEntry, readProjectDrift } from "./stack/drift_tab.js";

/** Return the view. */
export function showProjectDrift() {
  const list = h("div");
  const more = h("p");
  const element = h("section", {}, h("h1", {}, "Drift"), list, more);

  async function read(marker = "") {
    try {
      const answer = await readProjectDrift(marker);
      list.append(...answer.resources.map(driftEntry));
      if (!list.children.length) fill(list, h("p", {}, "Nothing has drifted."));
      const last = answer.resources.at(-1);
      fill(more, answer.links && last && button("Show more", () => read(last.resource_id)));
    } catch (error) {
      notice.failed(error);
    }
  }

  read();
  return { title: "Drift", element };
}
