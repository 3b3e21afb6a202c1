/**
 * Addresses of views, after the `#`: `/<project>/<view>/…?query`.
 *
 * The address alone says what is shown, so that it can be sent to somebody else.
 */

import * as session from "./session.js";

/** Return the parts and the query of the present address. */
export function currentAddress() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  return { project: parts[0] || null, parts: parts.slice(1), query: new URLSearchParams(query) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody has changed the address
  }
}

/** Return the address of a view in the session's project. */
export function address(...parts) {
  return `#/${[session.project() || "-", ...parts].map((part) => encodeURIComponent(part)).join("/")}`;
}

/** Show a view. */
export function go(...parts) {
  location.hash = address(...parts);
}

/** Change the query of the present address without a new entry in the history. */
export function replaceQuery(values) {
  const { project, parts } = currentAddress();
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  const path = [project, ...parts].map((part) => encodeURIComponent(part)).join("/");
  history.replaceState(null, "", `#/${path}${query ? `?${query}` : ""}`);
}
