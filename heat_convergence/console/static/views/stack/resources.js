/** Reads of the resources of a stack and of its nested stacks. */

import { get, stackOfLink, stackPath } from "../../lib/api.js";

/** Return the resources of a stack; `nestedStack` is the name and id of the one below, or null. */
export async function readResources(name, id) {
  const { resources } = await get(`${stackPath(name, id)}/resources`);
  for (const resource of resources) resource.nestedStack = stackOfLink(resource, "nested");
  return resources;
}
