/**
 * Elements of the page.
 *
 * All text enters the page as text nodes and attributes, never as HTML, so that a name, a
 * description or an output that holds HTML is shown as it is. The page's security policy refuses
 * everything else.
 */

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "selected"]);

/**
 * Return a new element.
 * @param {string} tag Name of the element; `tag.class1.class2` sets classes.
 * @param {object} attributes Attributes; functions under `on…` are listeners, null is left out.
 * @param {...*} children Elements, texts, and arrays of them; null and false are left out.
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  element.classList.add(...classes);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (PROPERTIES.has(key)) element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...toNodes(children));
  return element;
}

function toNodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...toNodes(children));
}

/** Return a button with a listener. */
export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

/** Return a label around a field. */
export function field(label, input, hint = null) {
  return h("label.field", {}, h("span", {}, label), input, hint && h("small", {}, hint));
}

/** Return a table with a caption for screen readers; `body` is its tbody. */
export function table(caption, headings) {
  const body = h("tbody");
  const cells = headings.map((heading) => h("th", { scope: "col" }, heading));
  const element = h(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption.visually-hidden", {}, caption), h("thead", {}, h("tr", {}, cells)), body),
  );
  return { element, body };
}

/**
 * Show items as the children of an element, and replace only those that have changed, so that
 * focus, selection and scroll positions remain.
 * @param {Element} parent The element.
 * @param {Array} items What to show.
 * @param {function} keyOf Returns the identity of an item.
 * @param {function} render Returns the element of an item.
 */
export function renderList(parent, items, keyOf, render) {
  const known = parent.renderedItems || new Map();
  const next = new Map();
  const elements = items.map((item) => {
    const key = keyOf(item);
    const text = JSON.stringify(item);
    const old = known.get(key);
    const entry = old && old.text === text ? old : { text, element: render(item) };
    next.set(key, entry);
    return entry.element;
  });
  elements.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] || null);
  });
  while (parent.children.length > elements.length) parent.lastElementChild.remove();
  parent.renderedItems = next;
}
