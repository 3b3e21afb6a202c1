/**
 * The list of stacks: search, filter, pages, live states.
 *
 * All stacks are read once, a thousand at a time, since the API has no search for parts of names.
 * After that the newest and those on the present page are read again.
 */

import { get, query } from "../lib/api.js";
import { button, field, fill, h, renderList, table } from "../lib/dom.js";
import { status, statusClass, time } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { startPolling } from "../lib/poller.js";
import { address, replaceQuery } from "../lib/router.js";

const PAGE = 50;
const BATCH = 1000;
const KINDS = [
  ["", "All states"],
  ["progress", "In progress"],
  ["complete", "Complete"],
  ["failed", "Failed"],
];

/** Return the view. */
export function showStacks(parameters) {
  const stacks = new Map();
  let newest = [];
  let page = Math.max(0, Number(parameters.get("page") || 1) - 1) || 0;
  let loaded = false;
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
  const list = table("Stacks", ["Name", "State", "Created", "Updated", "Owner", "Tags"]);
  const pager = h("p.pager");
  const element = h(
    "section",
    {},
    h("div.title", {}, h("h1", {}, "Stacks"), h("a.button", { href: address("create") }, "Create a stack")),
    h("div.filters", { role: "search" }, field("Search", search), field("State", kind)),
    summary,
    list.element,
    pager,
  );

  function change() {
    page = 0;
    show();
  }

  function turn(step) {
    page += step;
    show();
    poller.now();
  }

  function matching() {
    const text = search.value.trim().toLowerCase();
    return [...stacks.values()]
      .filter((stack) => !kind.value || statusClass(stack.stack_status) === kind.value)
      .filter((stack) => !text || searchText(stack).includes(text))
      .sort((a, b) => (a.creation_time < b.creation_time ? 1 : a.creation_time > b.creation_time ? -1 : 0));
  }

  function shown() {
    return matching().slice(page * PAGE, (page + 1) * PAGE);
  }

  function show() {
    const found = matching();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(page, pages - 1);
    renderList(list.body, found.slice(page * PAGE, (page + 1) * PAGE), (stack) => stack.id, row);
    fill(summary, loaded ? `${found.length} of ${stacks.size} stacks` : `${stacks.size} stacks read so far …`);
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

  async function readAll() {
    let marker = "";
    for (;;) {
      const answer = await get(`/stacks${query({ limit: BATCH, marker })}`);
      if (closed) return;
      for (const stack of answer.stacks) stacks.set(stack.id, stack);
      if (answer.stacks.length < BATCH) break;
      marker = answer.stacks.at(-1).id;
      show();
    }
    loaded = true;
  }

  async function refresh() {
    const page1 = (await get(`/stacks${query({ limit: PAGE })}`)).stacks;
    newest = page1.map((stack) => stack.id);
    for (const stack of page1) stacks.set(stack.id, stack);
    const others = shown().map((stack) => stack.id).filter((id) => !newest.includes(id));
    if (others.length) {
      const found = (await get(`/stacks${query({ id: others })}`)).stacks;
      for (const id of others) stacks.delete(id);
      for (const stack of found) stacks.set(stack.id, stack);
    }
    dropDeleted(page1);
  }

  /** Forget stacks that are newer than the last of the newest page but not in it. */
  function dropDeleted(page1) {
    const last = page1.length < PAGE ? "" : page1.at(-1).creation_time;
    for (const [id, stack] of stacks) {
      if (stack.creation_time > last && !newest.includes(id)) stacks.delete(id);
    }
  }

  const poller = startPolling(async () => {
    await (loaded ? refresh() : readAll());
    if (!closed) show();
    return shown().some((stack) => statusClass(stack.stack_status) === "progress");
  }, notice.failed);

  return {
    title: "Stacks",
    element,
    close() {
      closed = true;
      poller.stop();
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
