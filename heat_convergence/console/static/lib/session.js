/**
 * Who uses the page: settings of the service, and the token.
 *
 * The token is kept in this module's memory alone. It is gone with the page, and no storage of the
 * browser has it.
 */

const state = { auth: "none", project: null, projectName: "", userName: "", token: null, expiresAt: null };
let askForLogin = async () => {
  throw new Error("no login");
};
let pending = null;

/** Read the settings of the service. */
export async function loadSettings() {
  const response = await fetch("settings.json", { cache: "no-store" });
  if (!response.ok) throw new Error(`settings: ${response.status}`);
  const settings = await response.json();
  state.auth = settings.auth;
  state.project = state.project || settings.project_id;
}

/** Set the function that asks the user to log in; it resolves when it has called `accept`. */
export function onLoginNeeded(ask) {
  askForLogin = ask;
}

/** Have the user log in, once for all requests that need it; what was typed elsewhere stays. */
export function login() {
  pending = pending || askForLogin().finally(() => {
    pending = null;
  });
  return pending;
}

/** Ask the service for a token; return null, or why it was refused. */
export async function requestToken(values) {
  let response;
  try {
    response = await fetch("tokens", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(values),
    });
  } catch {
    return "The service does not answer.";
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) return answer.error ? answer.error.message : `The login failed (${response.status}).`;
  state.token = answer.token;
  state.expiresAt = answer.expires_at;
  state.project = answer.project_id;
  state.projectName = answer.project_name;
  state.userName = answer.user_name;
  return null;
}

export const needsLogin = () => state.auth === "keystone" && !state.token;
export const usesKeystone = () => state.auth === "keystone";
export const token = () => state.token;
export const project = () => state.project;
export const projectName = () => state.projectName || state.project;
export const userName = () => state.userName;

/** Forget the token. */
export function forgetToken() {
  state.token = null;
}

/** Without authentication, use the project that the address names. */
export function useProject(id) {
  if (state.auth === "none" && id) state.project = id;
}
