/** The console: header, navigation, and the view that the address names. */

import { button, fill, h } from "./lib/dom.js";
import { notice } from "./lib/notice.js";
import { address, currentAddress, go } from "./lib/router.js";
import * as session from "./lib/session.js";
import { showLogin } from "./views/login.js";
import { showStacks } from "./views/stacks.js";
import { showStack } from "./views/stack.js";
import { showCreate } from "./views/create.js";
import { showCompare } from "./views/compare.js";
import { showOverview } from "./views/overview.js";
import { showPlan, showPlans } from "./views/plans.js";
import { showQuarantine } from "./views/quarantine.js";
import { showProjectDrift } from "./views/project_drift.js";
import { showService } from "./views/service.js";

const VIEWS = {
  stacks: (parts, query) => (parts.length >= 2 ? showStack(parts, query) : showStacks(query)),
  create: () => showCreate(),
  compare: () => showCompare(),
  plans: (parts) => (parts.length ? showPlan(parts[0]) : showPlans()),
  drift: () => showProjectDrift(),
  quarantine: () => showQuarantine(),
  service: () => showService(),
  overview: () => showOverview(),
};
const LINKS = [
  ["stacks", "Stacks"],
  ["create", "Create"],
  ["compare", "Compare"],
  ["plans", "Plans"],
  ["drift", "Drift"],
  ["quarantine", "Quarantine"],
  ["service", "Service"],
  ["overview", "Overview"],
];

const main = document.getElementById("main");
let close = () => {};
let shownPath = null;

function showHeader(view) {
  const links = LINKS.map(([name, label]) =>
    h("a", { href: address(name), "aria-current": name === view ? "page" : null }, label),
  );
  fill(
    document.getElementById("header"),
    h("a.brand", { href: address("stacks") }, "Heat Convergence"),
    h("nav", { "aria-label": "Views" }, links),
    h("span.who", {}, [session.userName(), session.projectName()].filter(Boolean).join(" in ")),
    session.usesKeystone() &&
      button("Log out", () => {
        session.forgetToken();
        location.reload();
      }),
  );
}

function showView() {
  const { project, parts, query } = currentAddress();
  session.useProject(project);
  const [name = "stacks", ...rest] = parts;
  close();
  notice.clear();
  showHeader(name);
  if (project && project !== "-" && session.usesKeystone() && session.project() && project !== session.project()) {
    close = () => {};
    fill(main, otherProject(project));
    return;
  }
  const view = (VIEWS[name] || VIEWS.stacks)(rest, query);
  close = view.close || (() => {});
  document.title = `${view.title} – Heat Convergence`;
  fill(main, view.element);
  const path = location.hash;
  if (shownPath !== null && shownPath !== path) main.focus({ preventScroll: true });
  shownPath = path;
}

function otherProject(project) {
  return h(
    "section",
    {},
    h("h1", {}, "Another project"),
    h("p", {}, `This address is of the project ${project}; you have logged in to ${session.projectName()}.`),
    button("Log in to another project", async () => {
      session.forgetToken();
      await session.login();
      showView();
    }),
    " ",
    button("Show my stacks", () => go("stacks")),
  );
}

async function start() {
  session.onLoginNeeded(showLogin);
  try {
    await session.loadSettings();
  } catch {
    notice.showOutage();
    setTimeout(start, 3000);
    return;
  }
  notice.clearOutage();
  if (session.needsLogin()) await session.login();
  if (!currentAddress().project) history.replaceState(null, "", address("stacks"));
  addEventListener("hashchange", showView);
  showView();
}

start();
