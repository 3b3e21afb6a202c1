/** The update of a stack: as a plan that is looked at first, or at once. */

import { get, post, request } from "../../lib/api.js";
import { button, fill, h } from "../../lib/dom.js";
import { confirmAction } from "../../lib/dialog.js";
import { valueText } from "../../lib/format.js";
import { notice } from "../../lib/notice.js";
import { address, go } from "../../lib/router.js";
import { differenceTable } from "../difference_table.js";
import { goalForm } from "../goal_form.js";

/** Return the tab. */
export function updateTab(stack) {
  const goal = goalForm({ keepsParameters: true });
  let filled = false;
  let present = "";
  const found = h("div");
  const changes = h("details", { ontoggle: () => showChanges() }, h("summary", {}, "Difference from the present template"), found);
  const element = h(
    "section",
    {},
    goal.element,
    changes,
    h(
      "p.actions",
      {},
      button("Make a plan", () => plan({ action: "patch", ...goal.body() }), { class: "primary" }),
      button("Update without a plan", update),
      button("Plan the deletion", () => plan({ action: "delete" })),
      button("Plan a repair", () => plan({ action: "repair" })),
    ),
  );

  function showChanges() {
    if (changes.open) fill(found, differenceTable(present, goal.template(), "Difference from the present template"));
  }

  async function plan(body) {
    goal.fail("");
    try {
      const answer = await post(`${stack.path}/plans`, body);
      go("plans", answer.plan.id);
    } catch (error) {
      goal.fail(error.message);
    }
  }

  async function update() {
    const text = "The update begins at once. A plan shows first what would be replaced or deleted.";
    if (!(await confirmAction(`Update ${stack.name}`, text, "Update the stack"))) return;
    goal.fail("");
    try {
      await request("PATCH", stack.path, goal.body());
      notice.done("The update has begun.");
      location.hash = address("stacks", stack.name, stack.id);
    } catch (error) {
      goal.fail(error.message);
    }
  }

  return {
    element,
    async update() {
      if (filled) return; // what the user has typed stays
      filled = true;
      present = valueText(await get(`${stack.path}/template`));
      goal.setTemplate(present);
      goal.onInput(showChanges);
    },
  };
}
