/** The page of a stack: its state, actions on it, and its tabs. */

import { get, query, stackPath } from "../lib/api.js";
import { nextChange } from "../lib/changes.js";
import { fill, h } from "../lib/dom.js";
import { drift, status, statusClass, time } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { startPolling } from "../lib/poller.js";
import { address } from "../lib/router.js";
import { actionButtons } from "./stack/stack_actions.js";
import { driftTab } from "./stack/drift_tab.js";
import { eventsTab } from "./stack/events_tab.js";
import { graphTab } from "./stack/graph_tab.js";
import { outputsTab } from "./stack/outputs_tab.js";
import { resourcePage } from "./stack/resource.js";
import { resourcesTab } from "./stack/resources_tab.js";
import { templateTab } from "./stack/template_tab.js";
import { timelineTab } from "./stack/timeline_tab.js";
import { updateTab } from "./stack/update_tab.js";
import { versionsTab } from "./stack/versions_tab.js";

const TABS = {
  graph: ["Graph", graphTab],
  resources: ["Resources", resourcesTab],
  timeline: ["Timeline", timelineTab],
  events: ["Events", eventsTab],
  drift: ["Drift", driftTab],
  outputs: ["Outputs", outputsTab],
  template: ["Template", templateTab],
  versions: ["Versions", versionsTab],
  update: ["Update", updateTab],
};

/**
 * Return the view.
 * @param {Array<string>} parts Name and id of the stack, then the tab, then the resource.
 */
export function showStack([name, id, tabName = "graph", resource = null]) {
  const stack = { name, id, path: stackPath(name, id), shown: null };
  const tab = resource !== null && tabName === "resources" ? resourcePage(stack, resource) : newTab(stack, tabName);
  const state = h("div.state");
  const progress = h("div");
  const actions = h("div.actions");
  const element = h(
    "article",
    {},
    h("div.title", {}, h("h1", {}, name), actions),
    state,
    progress,
    h("nav.tabs", { "aria-label": "Parts of the stack" }, tabLinks(name, id, tabName)),
    tab.element,
  );

  async function read() {
    const [shown, found] = await Promise.all([
      get(`${stack.path}${query({ resolve_outputs: "false" })}`),
      get(`${stack.path}/progress${query({ limit: "20" })}`),
    ]);
    const before = stack.shown && stack.shown.stack_status;
    stack.shown = shown.stack;
    showState(state, stack);
    showProgress(progress, stack, found.progress);
    if (before !== stack.shown.stack_status) fill(actions, actionButtons(stack, () => poller.now()));
    if (stack.shown.stack_status !== "DELETE_COMPLETE") await readTab();
    return statusClass(stack.shown.stack_status) === "progress";
  }

  /** Show what the tab shows; a resource that is not there may come with the next update. */
  async function readTab() {
    try {
      await tab.update();
    } catch (error) {
      if (error.status !== 404) throw error;
      notice.failed(error);
    }
  }

  function onError(error) {
    notice.failed(error);
    if (error.status !== 404) return null;
    fill(actions);
    fill(state, h("p", {}, "There is no such stack in this project, or it was deleted."));
    return "stop";
  }

  const poller = startPolling(read, onError, () => nextChange(stack.path));
  return {
    title: name,
    element,
    close() {
      poller.stop();
      if (tab.close) tab.close();
    },
  };
}

function newTab(stack, name) {
  return (TABS[name] || TABS.graph)[1](stack);
}

function tabLinks(name, id, current) {
  return Object.entries(TABS).map(([tab, [label]]) =>
    h("a", { href: address("stacks", name, id, tab), "aria-current": tab === current ? "page" : null }, label),
  );
}

function showState(element, stack) {
  const { shown } = stack;
  fill(
    element,
    h("p", {}, status(shown.stack_status), " ", h("span.reason", {}, shown.stack_status_reason)),
    h(
      "p.muted",
      {},
      shown.description === "No description" ? null : [shown.description, h("br")],
      "Created ",
      time(shown.creation_time),
      shown.updated_time && [", updated ", time(shown.updated_time)],
      ", drift ",
      drift(shown.drift_status),
      shown.parent && ", nested stack",
      shown.tags.length ? `, tags ${shown.tags.join(", ")}` : null,
    ),
  );
}

function showProgress(element, stack, progress) {
  const unfinished = Object.values(progress.jobs).reduce((sum, count) => sum + count, 0);
  const total = progress.resources_total;
  const parts = [];
  if (progress.first_failure) parts.push(firstFailure(stack, progress.first_failure));
  if (unfinished && statusClass(progress.stack_status) === "progress") {
    parts.push(
      h("p", {}, h("progress", { max: total, value: total - unfinished, "aria-label": "Progress" }),
        ` ${total - unfinished} of ${total} resources are finished`),
      h("ul.waiting", {}, progress.resources.slice(0, 5).map((each) =>
        h("li", {}, resourceLink(stack, each.path), ` ${each.waiting ? each.waiting.message : ""}`))),
    );
  }
  fill(element, parts);
}

/** Return a link to a resource, or to the stack's own one above it. */
function resourceLink(stack, path) {
  return h("a", { href: address("stacks", stack.name, stack.id, "resources", path.split("/")[0]) }, path);
}

function firstFailure(stack, failure) {
  return h(
    "div.failure",
    { role: "note" },
    h("strong", {}, "First failure: "),
    failure.path && resourceLink(stack, failure.path),
    h("p", {}, failure.reason),
    failure.remedy && h("p", {}, failure.remedy),
  );
}
