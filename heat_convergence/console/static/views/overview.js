/** The whole service, for administrators of the cloud: projects, queue, workers, what needs attention. */

import { get } from "../lib/api.js";
import { fill, h, renderList, table } from "../lib/dom.js";
import { duration, secondsBetween, status, time } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { startPolling } from "../lib/poller.js";
import { address } from "../lib/router.js";

const SECTIONS = [
  ["failed_stacks", "Stacks that have failed", ["Stack", "State", "Reason", "Since", "Project"], failedRow],
  ["endpoints", "Services that are slow or left alone", ["Service", "Region", "State", "Project", "Worker"], endpointRow],
  ["unread", "Services that cannot be read", ["Type", "Reason", "Last read", "Next try", "Project"], unreadRow],
  ["breakers", "Mass losses that nobody has confirmed", ["Type", "Region", "Missing", "Since", "Project"], breakerRow],
  ["running", "What workers do", ["Resource", "Type", "Stack", "For", "Worker"], jobRow],
  ["queued", "Queue: ready, not yet claimed", ["Resource", "Type", "Stack", "For", "State"], jobRow],
  ["projects", "Projects", ["Project", "Stacks", "In progress", "Failed", "Jobs"], projectRow],
];

/** Return the view. */
export function showOverview() {
  const summary = h("p", { role: "status" });
  const parts = SECTIONS.map(([name, title, headings, row]) => ({ name, row, title, ...table(title, headings), none: h("p.muted", {}, "None.") }));
  const element = h(
    "section",
    {},
    h("h1", {}, "Overview"),
    summary,
    parts.map((part) => [h("h2", {}, part.title), part.none, part.element]),
  );

  function refuse(error) {
    if (error.status !== 403) return notice.failed(error);
    fill(element, h("h1", {}, "Overview"), h("p", {}, "Administrators of the cloud alone see the whole service."));
    return "stop";
  }

  const poller = startPolling(async () => {
    const { overview } = await get("/overview");
    fill(summary, summaryText(overview));
    for (const { name, row, element: shown, body, none } of parts) {
      none.hidden = overview[name].length > 0;
      shown.hidden = !none.hidden;
      renderList(body, overview[name], (each) => each.id || Object.values(each).join(), row);
    }
    return overview.running.length + overview.queued.length > 0;
  }, refuse);
  return { title: "Overview", element, close: poller.stop };
}

function summaryText({ stacks, jobs, oldest_ready_job_at: oldest }) {
  const sum = (items) => items.reduce((total, { count }) => total + count, 0);
  const busy = stacks.filter((each) => each.stack_status.endsWith("IN_PROGRESS"));
  const wait = oldest ? `; the oldest job that is ready waits for ${duration(secondsBetween(oldest))}` : "";
  return `${sum(stacks)} stacks, ${sum(busy)} in progress; ${sum(jobs)} jobs${wait}.`;
}

function stackLink(name, id, ...rest) {
  return h("a", { href: address("stacks", name, id, ...rest) }, name);
}

function row(head, ...cells) {
  return h("tr", {}, h("th", { scope: "row" }, head), cells.map((cell) => h("td", {}, cell)));
}

function failedRow(each) {
  return row(stackLink(each.stack_name, each.id), status(each.stack_status), each.stack_status_reason, time(each.updated_time), each.project_id);
}

function unreadRow(each) {
  return row(each.resource_type, each.reason, time(each.observed_at), each.next_at ? new Date(each.next_at).toLocaleString() : "–", each.project_id);
}

function endpointRow(each) {
  const open = `not called for ${duration(each.open_s)}, after ${each.failures} failures`;
  const slow = `${each.mean_s} s a call, mean of ${each.calls}`;
  const worker = `${each.binary} on ${each.worker_host} ${each.worker_id}`;
  return row(each.service, each.region || "–", each.state === "open" ? open : slow, each.project_id || "all", worker);
}

function breakerRow(each) {
  return row(each.resource_type, each.region || "–", `${each.lost} of ${each.total}`, time(each.since), each.project_id);
}

function jobRow(each) {
  const link = h("a", { href: address("stacks", each.stack_name, each.stack_id, "resources", each.resource_name) }, each.resource_name);
  const worker = each.worker_id ? `${each.worker_host || "ended worker"} ${each.worker_id}` : each.job_state;
  return row(link, each.resource_type, stackLink(each.stack_name, each.stack_id), time(each.since), worker);
}

function projectRow(each) {
  return row(each.project_id, String(each.stacks), String(each.in_progress), String(each.failed), String(each.jobs));
}
