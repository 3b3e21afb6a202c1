/** A field for a template: completion while it is typed, and the findings of the linter. */

import { get } from "../lib/api.js";
import { suggest } from "../lib/completion.js";
import { button, field, fill, h } from "../lib/dom.js";

const MOST_FINDINGS = 50;
let schema = null;
let number = 0;

/** Read the schema of templates once; without one there is no completion. */
function loadSchema() {
  schema = schema || get("/template_schema").catch(() => null);
  return schema;
}

/**
 * Return the field.
 * @param {string} value The text at first.
 * @param {function} onchange Called when the text has changed.
 */
export function templateEditor(value, onchange) {
  const id = `completion-${(number += 1)}`;
  const text = h("textarea", {
    "aria-label": "Template",
    "aria-autocomplete": "list",
    "aria-controls": id,
    value,
    rows: "16",
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => {
      onchange();
      complete(false);
    },
    onkeydown: onKey,
    onfocus: loadSchema,
    onblur: () => close(),
  });
  const list = h("ul.completion", { id, role: "listbox", "aria-label": "What may stand here", hidden: true });
  const findings = h("ul.findings", { "aria-label": "Findings", hidden: true });
  let shown = { from: 0, items: [] };
  let active = -1;

  async function complete(isRequested) {
    const known = await loadSchema();
    if (!known || text.selectionStart !== text.selectionEnd) return close();
    const found = suggest(text.value, text.selectionStart, known);
    if (!isRequested && found.from === text.selectionStart) return close(); // nothing is typed of a word
    shown = found;
    activate(isRequested && found.items.length ? 0 : -1);
    list.hidden = found.items.length === 0;
    return null;
  }

  function activate(index) {
    active = index;
    fill(list, shown.items.map((item, at) => option(item, at)));
    if (index < 0) text.removeAttribute("aria-activedescendant");
    else text.setAttribute("aria-activedescendant", `${id}-${index}`);
  }

  function option(item, at) {
    return h(
      "li",
      { id: `${id}-${at}`, role: "option", "aria-selected": String(at === active), onmousedown: (event) => choose(event, at) },
      h("strong", {}, item.label),
      " ",
      h("small", {}, item.description.slice(0, 120)),
    );
  }

  function choose(event, at) {
    event.preventDefault(); // the field keeps the focus
    const item = shown.items[at];
    text.setSelectionRange(shown.from, text.selectionStart);
    close();
    // In this way the browser can undo it.
    if (!document.execCommand("insertText", false, item.text)) text.setRangeText(item.text, shown.from, text.selectionEnd, "end");
    onchange();
  }

  function close() {
    list.hidden = true;
    text.removeAttribute("aria-activedescendant");
  }

  function onKey(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      complete(true);
    } else if (list.hidden) return;
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && active >= 0) choose(event, active);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      activate((active + step + shown.items.length) % shown.items.length);
    }
  }

  function select({ line }) {
    const before = text.value.split("\n").slice(0, line - 1).join("\n").length;
    const start = line > 1 ? before + 1 : 0;
    const end = text.value.indexOf("\n", start);
    text.focus();
    text.setSelectionRange(start, end < 0 ? text.value.length : end);
  }

  function finding(each) {
    const label = each.line ? `Line ${each.line}` : "Template";
    return h("li", { class: each.severity, title: each.remedy }, button(label, () => select(each), { disabled: !each.line }), ` ${each.rule} ${each.severity}: ${each.message}`);
  }

  return {
    element: h("div", {}, field("Template", text), list, h("p.muted", {}, "Ctrl and space show what may stand at the caret."), findings),
    text,
    /** Show what the linter has found, or nothing. */
    showFindings({ findings: found, count }) {
      findings.hidden = count === 0;
      const more = count > MOST_FINDINGS && h("li", {}, `${count - MOST_FINDINGS} more`);
      fill(findings, found.slice(0, MOST_FINDINGS).map(finding), more);
    },
  };
}
