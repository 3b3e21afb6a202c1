/**
 * The form of a template: typed, pasted or dropped; its parameters; an environment; files.
 *
 * The service reads the template while it is typed and says which parameters it has and what is
 * wrong with it.
 */

import { post } from "../lib/api.js";
import { button, field, fill, h } from "../lib/dom.js";
import { largeText } from "../lib/large_text.js";
import { templateEditor } from "./template_editor.js";

const VALIDATE_AFTER_MS = 500;
// Spaces and not line ends: each of many empty lines would be searched up to the last of them.
const TEMPLATE = /^[{ \t]*["']?(heat_template_version|AWSTemplateFormatVersion|HeatTemplateFormatVersion)/m;
const ENVIRONMENT = /^[{ \t]*["']?(resource_registry|parameter_defaults|parameters)["']?\s*:/m;

/**
 * Return the form.
 * @param {object} options `template` that is shown first, and `keepsParameters`, whether a
 *     parameter without a value keeps the one that the stack has.
 */
export function goalForm({ template = "", keepsParameters = false } = {}) {
  const editor = templateEditor(template, () => later());
  const { text } = editor;
  const goal = largeText(text);
  const environment = textArea("Environment", "", () => later());
  const problem = h("pre.failed", { role: "alert", hidden: true });
  const parameters = h("fieldset", { hidden: true });
  const fileList = h("ul.files");
  const files = new Map();
  const inputs = new Map();
  let timer = null;
  let turn = 0;
  let refusal = "";

  const chooser = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files", onchange: () => take(chooser.files) });
  const element = h(
    "div.goal",
    {},
    h("p", {}, "Type or paste a template, drop files here, or ", button("choose files", () => chooser.click()), chooser),
    editor.element,
    goal.note,
    fileList,
    parameters,
    h("details", {}, h("summary", {}, "Environment"), field("Environment", environment)),
    problem,
  );

  for (const name of ["dragover", "drop"]) {
    element.addEventListener(name, (event) => {
      event.preventDefault();
      if (name === "drop") take(event.dataTransfer.files);
    });
  }

  /** The first file that looks like a template is the template; others go with it by their names. */
  async function take(chosen) {
    let isTemplateMissing = true;
    refusal = "";
    for (const file of chosen) {
      const content = await file.text();
      if (isTemplateMissing && TEMPLATE.test(content)) {
        goal.set(content, file.name);
        isTemplateMissing = false;
      } else if (!environment.value && ENVIRONMENT.test(content)) environment.value = content;
      else files.set(file.name, content);
    }
    fill(fileList, [...files.keys()].map((name) => h("li", {}, name)));
    validate();
  }

  function later() {
    refusal = "";
    clearTimeout(timer);
    timer = setTimeout(validate, VALIDATE_AFTER_MS);
  }

  async function validate() {
    clearTimeout(timer);
    const mine = ++turn;
    if (!goal.value().trim()) return;
    lint(mine);
    let found = {};
    let message = "";
    try {
      found = (await post("/validate", source())).Parameters || {};
    } catch (error) {
      message = error.message;
    }
    if (mine !== turn) return;
    showProblem(message || refusal);
    if (!message) showParameters(found);
  }

  /** The findings are advice, so that the form does without them where there are none. */
  async function lint(mine) {
    const found = await post("/lint", source()).catch(() => ({ findings: [], count: 0 }));
    if (mine === turn) editor.showFindings(found);
  }

  /** Show why a request was refused, until something is changed: a check that ends later is no reason. */
  function fail(message) {
    refusal = message;
    showProblem(message);
  }

  function showProblem(message) {
    fill(problem, message);
    problem.hidden = !message;
  }

  function showParameters(found) {
    for (const name of inputs.keys()) if (!(name in found)) inputs.delete(name);
    for (const [name, schema] of Object.entries(found)) if (!inputs.has(name)) inputs.set(name, newInput(name, schema));
    parameters.hidden = inputs.size === 0;
    fill(
      parameters,
      h("legend", {}, "Parameters"),
      keepsParameters && h("p.muted", {}, "A parameter without a value keeps the one that the stack has."),
      Object.entries(found).map(([name, schema]) => field(schema.Label || name, inputs.get(name), schema.Description || null)),
    );
  }

  function newInput(name, schema) {
    const secret = String(schema.NoEcho) === "true";
    const preset = schema.Default === undefined ? "" : `default: ${secret ? "hidden" : show(schema.Default)}`;
    if (schema.AllowedValues && !secret) {
      const options = [h("option", { value: "" }, preset), ...schema.AllowedValues.map((value) => h("option", { value: show(value) }, show(value)))];
      return h("select", { name }, options);
    }
    return h("input", { name, type: secret ? "password" : "text", placeholder: preset, autocomplete: "off", spellcheck: "false" });
  }

  function source() {
    const body = { template: goal.value() };
    if (environment.value.trim()) body.environment = environment.value;
    if (files.size) body.files = Object.fromEntries(files);
    return body;
  }

  if (template) validate();
  return {
    element,
    fail,
    /** The body of a create or update. */
    body() {
      const values = [...inputs].filter(([, input]) => input.value !== "").map(([name, input]) => [name, input.value]);
      return { ...source(), parameters: Object.fromEntries(values) };
    },
    /** The text of the template. */
    template: goal.value,
    onInput: (listener) => text.addEventListener("input", listener),
    /** Show another template. */
    setTemplate(value) {
      goal.set(value);
      validate();
    },
  };
}

function show(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textArea(label, value, oninput) {
  return h("textarea", { "aria-label": label, value, oninput, rows: "16", spellcheck: "false", autocomplete: "off" });
}
