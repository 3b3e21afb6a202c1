/**
 * Repeated reads, when something has happened and at an interval.
 *
 * Where the API can be asked to wait for a change, that decides; the interval covers what makes no
 * event. It is one second while something is in progress (three with such waits), up to fifteen
 * while nothing changes, without end while the page is hidden, and grows while the service does
 * not answer.
 */

import { ApiError } from "./api.js";
import { notice } from "./notice.js";

const BUSY_MS = 1000;
const BUSY_WITH_WAITS_MS = 3000;
const LEAST_PAUSE_MS = 700;
const IDLE_MS = 3000;
const LONGEST_MS = 15000;

/**
 * Read now and again until `stop` is called.
 * @param {function} read Reads and shows; returns true while something is in progress.
 * @param {function} onError Called with an answer that is no success, apart from an absent service.
 * @param {function} changes Returns a function of an AbortSignal that waits for the next change
 *     after now, and resolves with whether there was one; null where the API has no such wait.
 */
export function startPolling(read, onError, changes = null) {
  let timer = null;
  let waiting = null;
  let stopped = false;
  let pause = IDLE_MS;
  let running = false;

  async function round() {
    if (stopped || running || document.hidden) return;
    running = true;
    clearTimeout(timer);
    try {
      const change = changes && !waiting && (await changes());
      const busy = await read();
      if (stopped) return;
      notice.clearOutage();
      if (change) waitForChange(change);
      pause = busy ? (changes ? BUSY_WITH_WAITS_MS : BUSY_MS) : Math.min(Math.max(pause * 1.3, IDLE_MS), LONGEST_MS);
    } catch (error) {
      if (stopped) return;
      if (!(error instanceof ApiError)) throw error;
      pause = Math.min(pause * 2, LONGEST_MS);
      if (error.status === 0 || error.status >= 500) notice.showOutage();
      else if (onError(error) === "stop") stopped = true;
    } finally {
      running = false;
      if (!stopped) timer = setTimeout(round, pause);
    }
  }

  async function waitForChange(change) {
    waiting = new AbortController();
    let hasChanged = false;
    try {
      hasChanged = await change(waiting.signal);
    } catch (error) {
      if (error instanceof ApiError || error.name === "AbortError") return; // the interval goes on
      throw error;
    } finally {
      waiting = null;
    }
    if (stopped || !hasChanged) return;
    clearTimeout(timer);
    timer = setTimeout(round, LEAST_PAUSE_MS);
  }

  function endWait() {
    if (waiting) waiting.abort();
  }

  function onVisible() {
    if (document.hidden) endWait();
    else round();
  }

  document.addEventListener("visibilitychange", onVisible);
  round();
  return {
    /** Read at once, such as after an action. */
    now() {
      pause = BUSY_MS;
      return round();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      endWait();
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}
