/** The service itself: its workers, for administrators, and suspected mass losses of the project. */

import { get, request } from "../lib/api.js";
import { button, fill, h, renderList, table } from "../lib/dom.js";
import { confirmAction } from "../lib/dialog.js";
import { time } from "../lib/format.js";
import { notice } from "../lib/notice.js";
import { startPolling } from "../lib/poller.js";

/** Return the view. */
export function showService() {
  const workers = table("Workers", ["Daemon", "Host", "State", "Last heartbeat", "Engine id"]);
  const refusal = h("p.muted");
  const breakers = table("Mass losses", ["Type", "Region", "Missing", "Since", "Action"]);
  const none = h("p", {}, "None is suspected.");
  const element = h(
    "section",
    {},
    h("h1", {}, "Service"),
    h("h2", {}, "Workers"),
    refusal,
    workers.element,
    h("h2", {}, "Mass losses"),
    h("p.muted", {}, "Where many resources are missing at once, nothing is repaired until somebody confirms that they are lost."),
    none,
    breakers.element,
  );

  async function readWorkers() {
    try {
      const { services } = await get("/services");
      renderList(workers.body, services, (each) => each.id, workerRow);
    } catch (error) {
      if (error.status !== 403) throw error;
      workers.element.hidden = true;
      fill(refusal, "Administrators alone see the workers.");
    }
  }

  async function confirmLoss(breaker) {
    const text = `${breaker.lost} resources then count as deleted, and policies apply to them: they may be created again.`;
    if (!(await confirmAction(`Confirm the loss of ${breaker.resource_type}`, text, "They are lost"))) return;
    try {
      await request("PUT", "/drift/breakers", { confirmed: [breaker.id] });
      notice.done("The loss is confirmed.");
    } catch (error) {
      notice.failed(error);
    }
    poller.now();
  }

  function breakerRow(breaker) {
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, breaker.resource_type),
      h("td", {}, breaker.region || "–"),
      h("td", {}, `${breaker.lost} of ${breaker.total}`),
      h("td", {}, time(breaker.since)),
      h("td", {}, breaker.confirmed ? "confirmed" : button("Confirm", () => confirmLoss(breaker))),
    );
  }

  const poller = startPolling(async () => {
    if (!refusal.textContent) await readWorkers();
    const { breakers: found } = await get("/drift/breakers");
    none.hidden = found.length > 0;
    breakers.element.hidden = found.length === 0;
    renderList(breakers.body, found, (each) => each.id, breakerRow);
    return false;
  }, notice.failed);
  return { title: "Service", element, close: poller.stop };
}

function workerRow(worker) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, worker.binary),
    h("td", {}, worker.hostname),
    h("td", {}, h("span", { class: `status ${worker.status === "up" ? "complete" : "failed"}` }, worker.status)),
    h("td", {}, time(worker.updated_at)),
    h("td", {}, worker.engine_id),
  );
}
