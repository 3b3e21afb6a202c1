/** Changes of a stack, by requests that the API answers when there is an event. */

import { get, query } from "./api.js";

const DEPTH = 5;
const WAIT_S = 50;

/**
 * Return a function that waits for the next event of a stack or its nested stacks after now, and
 * resolves with whether there was one. An API that cannot wait answers at once that there is none.
 * @param {string} path Path of the stack.
 */
export async function nextChange(path) {
  const { events } = await get(`${path}/events${query({ limit: 1, nested_depth: DEPTH })}`);
  const marker = events.length ? events[0].id : "";
  const wait = query({ limit: 1, nested_depth: DEPTH, sort_dir: "asc", marker, wait: WAIT_S });
  return async (signal) => (await get(`${path}/events${wait}`, signal)).events.length > 0;
}
