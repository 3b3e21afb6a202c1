/**
 * Requests to the public REST API.
 *
 * A request that meets an expired token waits until the user has logged in again, and is repeated.
 */

import * as session from "./session.js";

/** An answer of the API that is no success, or its absence (`status` 0). */
export class ApiError extends Error {
  constructor(status, message, type = "", body = null) {
    super(message);
    this.status = status;
    this.type = type;
    this.body = body;
  }
}

/** Base of the API: the page may be served below another path by a proxy. */
const BASE = new URL("../v1/", document.baseURI);

/**
 * Send a request for the session's project, and return the JSON of the answer.
 * @param {string} method HTTP method.
 * @param {string} path Path after the project, already encoded.
 * @param {*} body JSON document, if there is one.
 * @param {AbortSignal} signal Ends the request.
 */
export async function request(method, path, body = undefined, signal = undefined) {
  if (session.needsLogin()) await session.login();
  const response = await send(method, path, body, signal);
  if (response.status !== 401) return read(response);
  session.forgetToken();
  await session.login();
  return read(await send(method, path, body, signal));
}

/** A step upwards in a path, which the browser would follow to another route of the API. */
const STEP_UP = /(^|\/)(\.|%2e){1,2}(?=[/?]|$)/i;

async function send(method, path, body, signal) {
  const whole = `${encodeURIComponent(session.project())}${path}`;
  if (STEP_UP.test(whole)) throw new ApiError(404, "The service has no such address.");
  const headers = { Accept: "application/json" };
  if (session.token()) headers["X-Auth-Token"] = session.token();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(new URL(whole, BASE), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      redirect: "follow",
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The service does not answer.");
  }
}

async function read(response) {
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    answer = null; // updates answer in plain text
  }
  if (response.ok) return answer;
  const error = (answer && answer.error) || {};
  const message = typeof error === "string" ? error : error.message;
  throw new ApiError(
    response.status,
    message || (answer && answer.explanation) || `The service answered ${response.status}.`,
    error.type || "",
    answer,
  );
}

export const get = (path, signal) => request("GET", path, undefined, signal);
export const post = (path, body) => request("POST", path, body);

/** Return the path of a stack. */
export function stackPath(name, id) {
  return `/stacks/${encodeURIComponent(name)}/${encodeURIComponent(id)}`;
}

/** Return the path of a resource. */
export function resourcePath(stack, resource) {
  return `${stackPath(stack.name, stack.id)}/resources/${encodeURIComponent(resource)}`;
}

/** Return the stack that a link of the API leads to, as name and id; null for other links. */
export function stackOfLink(item, relation) {
  const link = (item.links || []).find((each) => each.rel === relation);
  const found = link && /\/stacks\/([^/]+)\/([^/?]+)/.exec(link.href);
  return found ? { name: decodeURIComponent(found[1]), id: decodeURIComponent(found[2]) } : null;
}

/** Return a query string; values may be arrays, and empty ones are left out. */
export function query(values) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const each of [value].flat()) if (each !== "" && each !== null && each !== undefined) parameters.append(name, each);
  }
  const text = parameters.toString();
  return text ? `?${text}` : "";
}
