/** One resource: state, why it waits, breakpoint, attributes, events. */

import { get, post, query, resourcePath, stackOfLink } from "../../lib/api.js";
import { button, fill, h } from "../../lib/dom.js";
import { documentBlock, drift, status, time } from "../../lib/format.js";
import { notice } from "../../lib/notice.js";
import { address } from "../../lib/router.js";
import { eventTable, showEvents } from "./events_tab.js";

/** Return the part of a stack's page that shows a resource. */
export function resourcePage(stack, name) {
  const path = resourcePath(stack, name);
  const body = h("div");
  const events = eventTable();
  const element = h(
    "section",
    {},
    h("h2", {}, name),
    body,
    h("h3", {}, "Events"),
    events.element,
  );
  let shownText = "";

  async function clearBreakpoint(hook, step) {
    try {
      await post(`${path}/signal`, step ? { unset_hook: hook, step: true } : { unset_hook: hook });
      notice.done(`The breakpoint ${hook} is cleared.`);
    } catch (error) {
      notice.failed(error);
    }
    await update();
  }

  function show(resource) {
    const text = JSON.stringify(resource);
    if (text === shownText) return;
    shownText = text;
    const nested = stackOfLink(resource, "nested");
    fill(
      body,
      h("p", {}, status(resource.resource_status), " ", h("span.reason", {}, resource.resource_status_reason)),
      resource.waiting && waitingBlock(resource.waiting),
      h(
        "dl",
        {},
        entry("Type", resource.resource_type),
        entry("Physical id", resource.physical_resource_id || "–"),
        entry("Drift", drift(resource.drift_status)),
        entry("Created", time(resource.creation_time)),
        entry("Updated", time(resource.updated_time)),
        entry("Required by", resource.required_by.join(", ") || "–"),
        resource.description && entry("Description", resource.description),
        nested && entry("Nested stack", h("a", { href: address("stacks", nested.name, nested.id) }, nested.name)),
      ),
      h("h3", {}, "Attributes"),
      documentBlock(resource.attributes, "Attributes"),
    );
  }

  function waitingBlock(waiting) {
    return h(
      "div.why",
      {},
      h("p", {}, h("strong", {}, "Why: "), waiting.message),
      waiting.hook && h("p.actions", {},
        button(`Clear the breakpoint ${waiting.hook}`, () => clearBreakpoint(waiting.hook, false)),
        button("Clear, and stop at the next resource", () => clearBreakpoint(waiting.hook, true))),
    );
  }

  async function update() {
    const { resource } = await get(path);
    show(resource);
    const found = await get(`${path}/events${query({ limit: "50" })}`).catch((error) => {
      if (error.status === 404) return { events: [] }; // none so far
      throw error;
    });
    showEvents(events.body, stack, found.events);
  }

  return { element, update };
}

function entry(term, value) {
  return [h("dt", {}, term), h("dd", {}, value)];
}
