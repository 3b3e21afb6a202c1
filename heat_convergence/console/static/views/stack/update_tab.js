/** The update of a stack: as a plan that is looked at first, or at once. */

import { get, post, request } from "../../lib/api.js";
import { button, h } from "../../lib/dom.js";
import { confirmAction } from "../../lib/dialog.js";
import { valueText } from "../../lib/format.js";
import { notice } from "../../lib/notice.js";
import { address, go } from "../../lib/router.js";
import { goalForm } from "../goal_form.js";

/** Return the tab. */
export function updateTab(stack) {
  const goal = goalForm({ keepsParameters: true });
  let filled = false;
  const element = h(
    "section",
    {},
    goal.element,
    h(
      "p.actions",
      {},
      button("Make a plan", () => plan({ action: "patch", ...goal.body() }), { class: "primary" }),
      button("Update without a plan", update),
      button("Plan the deletion", () => plan({ action: "delete" })),
      button("Plan a repair", () => plan({ action: "repair" })),
    ),
  );

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
      goal.setTemplate(valueText(await get(`${stack.path}/template`)));
    },
  };
}
