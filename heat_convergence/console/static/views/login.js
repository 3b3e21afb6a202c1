/** The login: a dialog above the present view, so that nothing that was typed there is lost. */

import { button, field, fill, h } from "../lib/dom.js";
import { requestToken } from "../lib/session.js";

const PROJECT = [
  ["project_name", "Project"],
  ["project_domain_name", "Domain of the project", "Default"],
];
const METHODS = {
  password: {
    label: "Password",
    fields: [
      ["username", "User"],
      ["user_domain_name", "Domain of the user", "Default"],
      ["password", "Password"],
      ...PROJECT,
    ],
  },
  token: { label: "Token", fields: [["token", "Token"], ...PROJECT] },
  application_credential: {
    label: "Application credential",
    fields: [
      ["application_credential_id", "Id of the credential"],
      ["application_credential_secret", "Secret of the credential"],
    ],
  },
};
const SECRETS = new Set(["password", "token", "application_credential_secret"]);
const AUTOCOMPLETE = new Map([
  ["username", "username"],
  ["password", "current-password"],
]);
const remembered = { method: "password" };

/** Ask the user to log in; the promise resolves when that has succeeded. */
export function showLogin() {
  return new Promise((resolve) => {
    const fields = h("div");
    const problem = h("p.failed", { role: "alert" });
    const submit = button("Log in", null, { type: "submit" });
    const form = h("form", { onsubmit: send }, methodChoice(), fields, problem, submit);
    const dialog = h(
      "dialog.login",
      { "aria-labelledby": "login-title", oncancel: (event) => event.preventDefault() },
      h("h1", { id: "login-title" }, "Log in"),
      form,
    );
    let inputs = new Map();

    function methodChoice() {
      const options = Object.entries(METHODS).map(([name, { label }]) =>
        h("option", { value: name, selected: name === remembered.method }, label),
      );
      const select = h("select", { onchange: () => showFields(select.value) }, options);
      return field("Log in with", select);
    }

    function showFields(method) {
      remembered.method = method;
      inputs = new Map(METHODS[method].fields.map(([name, , preset]) => [name, newInput(name, preset)]));
      fill(fields, METHODS[method].fields.map(([name, label]) => field(label, inputs.get(name))));
    }

    async function send(event) {
      event.preventDefault();
      submit.disabled = true;
      const values = { method: remembered.method };
      for (const [name, input] of inputs) {
        if (input.value) values[name] = input.value;
        if (!SECRETS.has(name)) remembered[name] = input.value;
      }
      if (!values.project_name) delete values.project_domain_name;
      const refusal = await requestToken(values);
      submit.disabled = false;
      fill(problem, refusal);
      if (refusal) return;
      dialog.removeEventListener("close", reopen);
      dialog.close();
      dialog.remove();
      resolve();
    }

    /** Without a login nothing can be shown, whatever closed the dialog. */
    function reopen() {
      dialog.showModal();
    }

    showFields(remembered.method);
    dialog.addEventListener("close", reopen);
    document.body.append(dialog);
    dialog.showModal();
  });
}

function newInput(name, preset = "") {
  return h("input", {
    name,
    type: SECRETS.has(name) ? "password" : "text",
    autocomplete: AUTOCOMPLETE.get(name) || "off",
    spellcheck: "false",
    value: remembered[name] || preset,
  });
}
