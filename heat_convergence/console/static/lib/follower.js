/**
 * Changes of a list, by requests that the API answers when there is one.
 *
 * One request waits at a time. An API that cannot hold it answers at once, and is then asked at an
 * interval of three seconds. Nothing is asked while the page is hidden; while the service does not
 * answer, the interval grows.
 */

import { ApiError } from "./api.js";
import { notice } from "./notice.js";

const LEAST_PAUSE_MS = 700;
const UNHELD_PAUSE_MS = 3000;
const LONGEST_MS = 15000;
const HELD_MS = 2000;

/**
 * Load a list, and follow its changes until `stop` is called.
 * @param {function} load Reads and shows the list.
 * @param {function} next Waits for a change and shows it; returns whether there was one. Takes an
 *     AbortSignal, and whether to wait at all: the first request after an outage does not, so that the
 *     page says at once that the service is back.
 * @param {function} onError Called with an answer that is no success, apart from an absent service.
 */
export function startFollowing(load, next, onError) {
  let stopped = false;
  let loaded = false;
  let waiting = null;
  let timer = null;
  let pause = UNHELD_PAUSE_MS;
  let running = false;
  let away = false;

  async function step() {
    if (!loaded) {
      await load();
      loaded = true;
      return 0;
    }
    waiting = new AbortController();
    const started = Date.now();
    const hasChanged = await next(waiting.signal, !away);
    if (away) return 0;
    return hasChanged ? LEAST_PAUSE_MS : Date.now() - started > HELD_MS ? 0 : UNHELD_PAUSE_MS;
  }

  async function round() {
    if (stopped || running || document.hidden) return;
    running = true;
    clearTimeout(timer);
    let after = LONGEST_MS;
    try {
      after = await step();
      pause = UNHELD_PAUSE_MS;
      away = false;
      if (!stopped) notice.clearOutage();
    } catch (error) {
      if (error.name === "AbortError") after = 0; // the page may be shown again already
      else if (!stopped) after = failed(error);
    } finally {
      running = false;
      waiting = null;
      if (!stopped) timer = setTimeout(round, after);
    }
  }

  function failed(error) {
    if (!(error instanceof ApiError)) throw error;
    pause = Math.min(pause * 1.5, LONGEST_MS);
    away = error.status === 0 || error.status >= 500;
    if (away) notice.showOutage();
    else onError(error);
    return pause;
  }

  function onVisible() {
    if (document.hidden && waiting) waiting.abort();
    else round();
  }

  /** A request that waits does not notice by itself that the network has gone. */
  function onOffline() {
    if (waiting) waiting.abort();
  }

  document.addEventListener("visibilitychange", onVisible);
  addEventListener("offline", onOffline);
  addEventListener("online", round);
  round();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      if (waiting) waiting.abort();
      document.removeEventListener("visibilitychange", onVisible);
      removeEventListener("offline", onOffline);
      removeEventListener("online", round);
    },
  };
}
