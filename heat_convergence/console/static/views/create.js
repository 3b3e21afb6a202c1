/** The creation of a stack from a template: at once, or as a plan first. */

import { post } from "../lib/api.js";
import { button, field, h } from "../lib/dom.js";
import { go } from "../lib/router.js";
import { goalForm } from "./goal_form.js";

/** Return the view. */
export function showCreate() {
  const name = h("input", { name: "stack_name", required: true, autocomplete: "off", maxlength: "255" });
  const timeout = h("input", { name: "timeout_mins", type: "number", min: "1" });
  const rollback = h("input", { type: "checkbox" });
  const goal = goalForm();
  const form = h(
    "form",
    { onsubmit: (event) => submit(event, "/stacks") },
    field("Name of the stack", name),
    goal.element,
    field("Time limit in minutes", timeout),
    h("label.check", {}, rollback, " Delete what was created if the creation fails"),
    h("p.actions", {},
      h("button.primary", { type: "submit" }, "Create the stack"),
      button("Make a plan first", (event) => submit(event, "/plans"))),
  );
  const element = h("section", {}, h("h1", {}, "Create a stack"), form);

  async function submit(event, path) {
    event.preventDefault();
    if (!form.reportValidity()) return;
    goal.fail("");
    const body = { stack_name: name.value, disable_rollback: !rollback.checked, ...goal.body() };
    if (timeout.value) body.timeout_mins = Number(timeout.value);
    try {
      const answer = await post(path, body);
      if (answer.plan) go("plans", answer.plan.id);
      else go("stacks", name.value, answer.stack.id);
    } catch (error) {
      goal.fail(error.message);
    }
  }

  return { title: "Create a stack", element };
}
