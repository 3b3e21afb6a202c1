/** Texts and colours of values: times, durations, states, documents. */

import { h } from "./dom.js";

/** Return the seconds from one time to another, or until now. */
export function secondsBetween(from, to = null) {
  return ((to ? Date.parse(to) : Date.now()) - Date.parse(from)) / 1000;
}

/** Return a duration in words: `8 s`, `3 min`, `2 h`, `5 d`. */
export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 100) return `${s} s`;
  if (s < 6000) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

/** Return a time as an element that has both the local time and how long ago it was. */
export function time(text) {
  if (!text) return h("span", {}, "–");
  const utc = /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`; // some views leave it out
  const local = new Date(utc).toLocaleString();
  return h("time", { datetime: utc, title: local, "data-ago": true }, ago(utc));
}

function ago(text) {
  return `${duration(secondsBetween(text))} ago`;
}

setInterval(() => {
  for (const element of document.querySelectorAll("time[data-ago]")) element.textContent = ago(element.dateTime);
}, 10000);

/** Return the kind of a status: `progress`, `complete`, `failed` or `none`. */
export function statusClass(status) {
  const text = String(status || "");
  if (text.endsWith("IN_PROGRESS")) return "progress";
  if (text.endsWith("COMPLETE") && !text.startsWith("INIT")) return "complete";
  if (text.endsWith("FAILED")) return "failed";
  return "none";
}

const SYMBOLS = { progress: "◐", complete: "●", failed: "✖", none: "○" };

/** Return a status with a symbol, since colour alone does not tell everybody enough. */
export function status(text) {
  const kind = statusClass(text);
  return h("span.status", { class: `status ${kind}` }, `${SYMBOLS[kind]} ${text}`);
}

const DRIFT_KINDS = { IN_SYNC: "complete", MODIFIED: "warning", DELETED: "failed", ERROR: "failed" };

/** Return a drift status. */
export function drift(text) {
  return h("span", { class: `status ${DRIFT_KINDS[text] || "none"}` }, text || "–");
}

/** Return a value as text: texts as they are, everything else as JSON. */
export function valueText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** Return a document as an element. */
export function documentBlock(value, label) {
  return h("pre", { tabindex: "0", "aria-label": label }, valueText(value));
}
