/**
 * All stacks of the project, as the API has them.
 *
 * They are read once, a thousand at a time, since the API has no search for parts of names. After
 * that the API is asked for what has changed since, and answers when there is something.
 */

import { get, query } from "./api.js";
import { statusClass } from "./format.js";

const BATCH = 1000;
const IDS = 100;
const WAIT_S = 50;

export class StackList {
  constructor() {
    this.stacks = new Map();
    this.marker = "0";
    this.loaded = false;
  }

  /**
   * Read all stacks.
   * @param {function} onBatch Called after each thousand; returns false to stop.
   */
  async load(onBatch) {
    // Before the list, so that what changes meanwhile shows afterwards.
    this.marker = (await get(`/stacks${query({ changed_since: "0", limit: 1 })}`)).changes_marker;
    const found = new Map();
    for (let last = ""; ; ) {
      const { stacks } = await get(`/stacks${query({ limit: BATCH, marker: last })}`);
      for (const stack of stacks) found.set(stack.id, stack);
      if (!this.loaded) this.stacks = found;
      if (!onBatch() || stacks.length < BATCH) break;
      last = stacks.at(-1).id;
    }
    this.stacks = found;
    this.loaded = true;
  }

  /** Wait for changes, or only ask for them; return whether there were some. */
  async next(signal, waits) {
    const wait = query({ changed_since: this.marker, wait: waits ? WAIT_S : "", limit: BATCH });
    const answer = await get(`/stacks${wait}`, signal);
    if (answer.has_changed && answer.stacks.length === BATCH) {
      await this.load(() => true);
      return true;
    }
    if (answer.has_changed) {
      for (const stack of answer.stacks) this.put(stack);
      await this.readEnded(new Set(answer.stacks.map((stack) => stack.id)), signal);
    }
    this.marker = answer.changes_marker;
    return answer.has_changed;
  }

  /** Read the stacks again that were in progress and no longer are. */
  async readEnded(unfinished, signal) {
    const ended = [...this.stacks.values()]
      .filter((stack) => statusClass(stack.stack_status) === "progress" && !unfinished.has(stack.id))
      .map((stack) => stack.id);
    for (let start = 0; start < ended.length; start += IDS) {
      const ids = ended.slice(start, start + IDS);
      const { stacks } = await get(`/stacks${query({ id: ids })}`, signal);
      for (const id of ids) this.stacks.delete(id); // those that are not found have been deleted
      for (const stack of stacks) this.put(stack);
    }
  }

  put(stack) {
    if (stack.deletion_time) this.stacks.delete(stack.id);
    else this.stacks.set(stack.id, stack);
  }
}
