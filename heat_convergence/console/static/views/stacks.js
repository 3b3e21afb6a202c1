/** The list of stacks: search, filter, pages, live states. */

import { button, field, fill, h, renderList, table } from "../lib/dom.js";
import { status, statusClass, time } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { startFollowing } from "../lib/follower.js";
import { address, replaceQuery } from "../lib/router.js";
import { StackList } from "../lib/stack_list.js";

const PAGE = 50;
const KINDS = [
  ["", "All states"],
  ["progress", "In progress"],
  ["complete", "Complete"],
  ["failed", "Failed"],
];

/** Return the view. */
export function showStacks(parameters) {
  const list = new StackList();
  let page = Math.max(0, Number(parameters.get("page") || 1) - 1) || 0;
  let closed = false;
  const search = h("input", {
    type: "search",
    value: parameters.get("search") || "",
    placeholder: "Name, id, tag or owner",
    oninput: () => change(),
  });
  const kind = h(
    "select",
    { onchange: () => change() },
    KINDS.map(([value, label]) => h("option", { value, selected: value === (parameters.get("state") || "") }, label)),
  );
  const summary = h("p.summary", { role: "status" });
  const rows = table("Stacks", ["Name", "State", "Created", "Updated", "Owner", "Tags"]);
  const pager = h("p.pager");
  const element = h(
    "section",
    {},
    h("div.title", {}, h("h1", {}, "Stacks"), h("a.button", { href: address("create") }, "Create a stack")),
    h("div.filters", { role: "search" }, field("Search", search), field("State", kind)),
    summary,
    rows.element,
    pager,
  );

  function change() {
    page = 0;
    show();
  }

  function turn(step) {
    page += step;
    show();
  }

  function matching() {
    const text = search.value.trim().toLowerCase();
    return [...list.stacks.values()]
      .filter((stack) => !kind.value || statusClass(stack.stack_status) === kind.value)
      .filter((stack) => !text || searchText(stack).includes(text))
      .sort((a, b) => (a.creation_time < b.creation_time ? 1 : a.creation_time > b.creation_time ? -1 : 0));
  }

  function show() {
    const found = matching();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(page, pages - 1);
    renderList(rows.body, found.slice(page * PAGE, (page + 1) * PAGE), (stack) => stack.id, row);
    fill(summary, list.loaded ? `${found.length} of ${list.stacks.size} stacks` : `${list.stacks.size} stacks read so far …`);
    fill(
      pager,
      pages > 1 && [
        button("Previous", () => turn(-1), { disabled: page === 0 }),
        ` Page ${page + 1} of ${pages} `,
        button("Next", () => turn(1), { disabled: page + 1 >= pages }),
      ],
    );
    replaceQuery({ search: search.value, state: kind.value, page: page ? String(page + 1) : "" });
  }

  async function load() {
    await list.load(() => {
      if (!closed) show();
      return !closed;
    });
    if (!closed) show();
  }

  async function next(signal, waits) {
    const hasChanged = await list.next(signal, waits);
    if (hasChanged && !closed) show();
    return hasChanged;
  }

  const follower = startFollowing(load, next, notice.failed);

  return {
    title: "Stacks",
    element,
    close() {
      closed = true;
      follower.stop();
    },
  };
}

function searchText(stack) {
  return [stack.stack_name, stack.id, stack.stack_owner, ...(stack.tags || [])].join("\n").toLowerCase();
}

function row(stack) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: address("stacks", stack.stack_name, stack.id) }, stack.stack_name)),
    h("td", { title: stack.stack_status_reason }, status(stack.stack_status)),
    h("td", {}, time(stack.creation_time)),
    h("td", {}, time(stack.updated_time)),
    h("td", {}, stack.stack_owner || "–"),
    h("td", {}, (stack.tags || []).join(", ")),
  );
}
