/** The quarantine: resources that could not be deleted with their stack. */

import { get, post, request } from "../lib/api.js";
import { button, h, renderList, table } from "../lib/dom.js";
import { confirmAction } from "../lib/dialog.js";
import { time } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { startPolling } from "../lib/poller.js";

/** Return the view. */
export function showQuarantine() {
  const list = table("Quarantine", ["Resource", "Type", "Stack", "State", "Reason", "Since", "Next try", "Actions"]);
  const empty = h("p", {}, "Nothing is in quarantine.");
  const element = h("section", {}, h("h1", {}, "Quarantine"), empty, list.element);

  async function act(text, call) {
    try {
      await call();
      notice.done(text);
    } catch (error) {
      notice.failed(error);
    }
    poller.now();
  }

  async function dismiss(entry) {
    const text = "What is left of the resource is yours from then on; the service does not try to delete it any more.";
    if (!(await confirmAction(`Dismiss ${entry.resource_name}`, text, "Dismiss it"))) return;
    await act("Dismissed.", () => request("DELETE", `/quarantine/${encodeURIComponent(entry.id)}`));
  }

  function row(entry) {
    const retry = () => act("The deletion is tried at once.", () => post(`/quarantine/${encodeURIComponent(entry.id)}/retry`));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, entry.resource_name),
      h("td", {}, entry.resource_type),
      h("td", {}, entry.stack_name),
      h("td", {}, entry.quarantine_status),
      h("td.reason", {}, entry.quarantine_reason),
      h("td", {}, time(entry.since)),
      h("td", {}, entry.next_at ? new Date(entry.next_at).toLocaleString() : "–"),
      h("td.actions", {}, button("Try now", retry), button("Dismiss", () => dismiss(entry))),
    );
  }

  const poller = startPolling(async () => {
    const { quarantine } = await get("/quarantine");
    empty.hidden = quarantine.length > 0;
    list.element.hidden = quarantine.length === 0;
    renderList(list.body, quarantine, (entry) => entry.id, row);
    return false;
  }, notice.failed);
  return { title: "Quarantine", element, close: poller.stop };
}
