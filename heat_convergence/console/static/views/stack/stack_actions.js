/** Actions on a stack; each is confirmed before it begins. */

import { post, request } from "../../lib/api.js";
import { button } from "../../lib/dom.js";
import { confirmAction } from "../../lib/dialog.js";
import { notice } from "../../lib/notice.js";

const ACTIONS = [
  ["cancel_update", "Cancel the update", "The stack goes back to its former template.", "UPDATE_IN_PROGRESS"],
  ["cancel_without_rollback", "Stop here", "What has begun is finished, nothing more is started.", "UPDATE_IN_PROGRESS CREATE_IN_PROGRESS"],
  ["check", "Check", "The state of each resource is read.", null],
  ["repair", "Repair", "Resources that have drifted are restored as the template says.", null],
  ["suspend", "Suspend", "Resources that can be suspended are, such as servers.", null],
  ["resume", "Resume", "Resources that were suspended are resumed.", "SUSPEND_"],
];

/** Return the buttons for a stack in its present state. */
export function actionButtons(stack, onDone) {
  const status = stack.shown.stack_status;
  if (status === "DELETE_COMPLETE") return [];
  const possible = ACTIONS.filter(([name, , , states]) => isPossible(name, states, status));
  return [
    ...possible.map(([name, label, text]) => button(label, () => run(stack, name, label, text, onDone))),
    button("Delete", () => remove(stack, onDone), { class: "danger" }),
  ];
}

function isPossible(name, states, status) {
  if (states) return states.split(" ").some((each) => status.startsWith(each));
  if (status.endsWith("IN_PROGRESS")) return false;
  return !(name === "suspend" && status === "SUSPEND_COMPLETE");
}

async function run(stack, name, label, text, onDone) {
  if (!(await confirmAction(`${label}: ${stack.name}`, text, label))) return;
  try {
    await post(`${stack.path}/actions`, { [name]: null });
    notice.done(`${label}: the service has begun.`);
  } catch (error) {
    notice.failed(error);
  }
  onDone();
}

async function remove(stack, onDone) {
  const text = "The stack and all of its resources are deleted, servers and volumes with their data too.";
  if (!(await confirmAction(`Delete ${stack.name}`, text, "Delete the stack"))) return;
  try {
    await request("DELETE", stack.path);
    notice.done("The deletion has begun.");
  } catch (error) {
    notice.failed(error);
  }
  onDone();
}
