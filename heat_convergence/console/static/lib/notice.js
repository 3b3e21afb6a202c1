/** The line below the header that says what has just happened, for screen readers too. */

const element = document.getElementById("notice");
let outage = false;

function show(text, kind) {
  element.textContent = text;
  element.className = kind;
  element.hidden = !text;
}

export const notice = {
  /** Show what was done. */
  done(text) {
    show(text, "done");
  },
  /** Show what went wrong. */
  failed(error) {
    show(error.message, "failed");
  },
  clear() {
    if (!outage) show("", "");
  },
  showOutage() {
    outage = true;
    show("The service does not answer. The page tries again by itself.", "failed");
  },
  clearOutage() {
    if (outage) {
      outage = false;
      show("", "");
    }
  },
};
