/** Plans: the list, and one plan with what it would do, which can be executed. */

import { get, post, request } from "../lib/api.js";
import { button, fill, h, renderList, table } from "../lib/dom.js";
import { confirmAction } from "../lib/dialog.js";
import { duration, time, valueText } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { address, go } from "../lib/router.js";

const SIGNS = {
  add: "+", update: "~", replace: "±", delete: "−", unchanged: "=", import: "<", move: ">", rename: "≈",
};

/** Return the list of plans. */
export function showPlans() {
  const list = table("Plans", ["Plan", "Stack", "Action", "State", "Changes", "Made", "Executed"]);
  const element = h("section", {}, h("h1", {}, "Plans"), h("p.muted", {}, "A plan is made on the page of a stack, under Update, or when a stack is created."), list.element);
  get("/plans").then(({ plans }) => renderList(list.body, plans, (plan) => plan.id, planRow), notice.failed);
  return { title: "Plans", element };
}

function planRow(plan) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: address("plans", plan.id) }, plan.id.slice(0, 8))),
    h("td", {}, plan.stack_name),
    h("td", {}, plan.action),
    h("td", {}, plan.plan_status),
    h("td", {}, countsText(plan.summary)),
    h("td", {}, time(plan.creation_time)),
    h("td", {}, time(plan.executed_at)),
  );
}

function countsText(summary) {
  const counts = Object.entries(summary.resource_counts || {}).filter(([change, count]) => count && change !== "unchanged");
  return counts.map(([change, count]) => `${count} ${change}`).join(", ") || "none";
}

/** Return the view of a plan. */
export function showPlan(id) {
  const path = `/plans/${encodeURIComponent(id)}`;
  const element = h("section", {}, h("h1", {}, "Plan"));
  const problem = h("div", { role: "alert" });

  async function read() {
    try {
      const { plan } = await get(path);
      fill(element, planContent(plan, problem, () => execute(plan), remove));
    } catch (error) {
      notice.failed(error);
    }
  }

  async function execute(plan) {
    const destroyed = plan.summary.destructive_count;
    const text = `${countsText(plan.summary)}. ${destroyed ? `${destroyed} physical resources are deleted.` : "No physical resource is deleted."}`;
    if (!(await confirmAction(`Execute the plan for ${plan.stack_name}`, text, "Execute the plan"))) return;
    try {
      const answer = await post(`${path}/execute`);
      const executed = (answer && answer.plan) || plan;
      go("stacks", executed.stack_name, executed.stack_id);
    } catch (error) {
      fill(problem, h("p.failed", {}, error.message), differences(error));
    }
  }

  async function remove() {
    try {
      await request("DELETE", path);
      go("plans");
    } catch (error) {
      notice.failed(error);
    }
  }

  read();
  return { title: "Plan", element };
}

function differences(error) {
  const found = (error.body && error.body.error && error.body.error.differences) || [];
  return h("ul", {}, found.map((each) => h("li", {}, `${each.stack_name} ${each.resource_name || ""}: ${each.reason}`)));
}

function planContent(plan, problem, execute, remove) {
  const changed = plan.resources.filter((each) => each.change !== "unchanged");
  const { summary } = plan;
  return [
    h("div.title", {}, h("h1", {}, `Plan: ${plan.action} ${plan.stack_name}`),
      h("div.actions", {},
        plan.plan_status === "READY" && button("Execute the plan", execute, { class: "primary" }),
        button("Delete the plan", remove))),
    h("p", {}, h("strong", {}, plan.plan_status), `, ${countsText(summary)}, about ${duration(summary.estimated_duration_s || 0)}; made `, time(plan.creation_time)),
    summary.failing_count > 0 && h("p.failed", {}, `${summary.failing_count} changes will fail.`),
    quotas(plan.quotas),
    problem,
    changed.length === 0 && h("p", {}, "Nothing changes."),
    changed.map(change),
  ];
}

function quotas(found) {
  const exceeded = (found || []).filter((each) => each.status === "exceeded");
  return exceeded.length > 0 && h("p.failed", {}, `Exceeds quotas: ${exceeded.map((each) => each.resource || each.name || valueText(each)).join(", ")}`);
}

function change(entry) {
  return h(
    "article",
    { class: `change ${entry.change}` },
    h("h2", {}, h("span", { "aria-hidden": "true" }, `${SIGNS[entry.change]} `), entry.path, h("small", {}, ` ${entry.change} ${entry.resource_type}`)),
    entry.destructive && h("p.failed", {}, "The physical resource is deleted."),
    entry.fails && h("p.failed", {}, "This change will fail."),
    entry.reason && h("p.reason", {}, entry.reason),
    entry.properties.length > 0 && h(
      "table.compared",
      {},
      h("caption.visually-hidden", {}, `Properties of ${entry.path} that change`),
      h("thead", {}, h("tr", {}, ["Property", "Applied", "Desired"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, entry.properties.map((each) =>
        h("tr", {},
          h("th", { scope: "row" }, each.property, each.forces_replacement && h("small.failed", {}, " replaces")),
          h("td.removed", {}, h("pre", {}, valueText(each.applied))),
          h("td.added", {}, h("pre", {}, valueText(each.desired), each.known === false ? " (known later)" : ""))))),
    ),
  );
}
