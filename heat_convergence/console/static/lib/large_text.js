/**
 * Texts of files that are too large to be edited: kept beside the field.
 *
 * A browser needs seconds to lay out a field of several megabytes, and again for each key. The
 * service decides whether it takes such a template.
 */

import { button, fill, h } from "./dom.js";

const LARGEST_EDITED = 1_000_000; // characters

/**
 * Return the text of a field that may be too large for it.
 * @param {HTMLTextAreaElement} field Where smaller texts are shown.
 */
export function largeText(field) {
  const note = h("p.large", { role: "status", hidden: true });
  let kept = null;

  function set(content, name = "The text") {
    kept = content.length > LARGEST_EDITED ? content : null;
    field.value = kept === null ? content : "";
    field.hidden = kept !== null;
    note.hidden = kept === null;
    if (kept === null) return;
    const size = (content.length / 1e6).toFixed(1);
    fill(note, `${name} has ${size} million characters, too many to be edited here. It is used as it is. `, button("Use another text", () => set("")));
  }

  return {
    /** Says that a text is kept and not shown. */
    note,
    set,
    value: () => (kept === null ? field.value : kept),
  };
}
