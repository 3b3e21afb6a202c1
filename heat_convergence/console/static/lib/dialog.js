/** Dialogs: a confirmation before an action that changes something. */

import { button, h } from "./dom.js";

/**
 * Ask before an action.
 * @param {string} title What is going to happen.
 * @param {string} text What it means.
 * @param {string} label Label of the button that confirms.
 * @returns {Promise<boolean>} Whether the user has confirmed.
 */
export function confirmAction(title, text, label) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      h("h2", { id: "dialog-title" }, title),
      h("p", {}, text),
      h(
        "div.actions",
        {},
        button(label, () => dialog.close("yes"), { class: "danger" }),
        button("Keep it as it is", () => dialog.close(""), { autofocus: true }),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
