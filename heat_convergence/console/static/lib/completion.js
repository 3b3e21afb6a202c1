/**
 * What may stand at a place of a template in YAML, by the JSON Schema of templates.
 *
 * Pure functions of texts. The place is known by indentation alone, so that a template which is no
 * valid YAML for the moment is completed, too.
 */

const MOST = 10;
const LONGEST_LINE = 2000; // of what is completed: the time of a search grows with its square
const REFERENCES = { get_param: "parameters", get_resource: "resources", get_attr: "resources", depends_on: "resources" };
const REFERENCE = /\b(get_param|get_resource|get_attr|depends_on):\s*\[?\s*["']?([\w.-]*)$/;
const NOTHING = { from: 0, items: [] };

/**
 * Return what may stand at the caret.
 * @param {string} text The template.
 * @param {number} caret Where the user types.
 * @param {object} schema JSON Schema of templates.
 * @returns {{from: number, items: Array}} Items replace the text from there to the caret; each has
 *     `text`, `label` and `description`.
 */
export function suggest(text, caret, schema) {
  const start = text.lastIndexOf("\n", caret - 1) + 1;
  const line = text.slice(start, caret);
  if (line.length > LONGEST_LINE || /^\s*#/.test(line) || /^\s*\{/.test(text)) return NOTHING;
  const lines = text.split("\n");
  const place = { lines, row: text.slice(0, start).split("\n").length - 1, schema };
  const [prefix, choices] = choicesAt(line, place);
  const found = matching(choices, prefix);
  return { from: caret - prefix.length, items: found.slice(0, MOST) };
}

/** Return what has been typed of a word, and all words that may stand there. */
function choicesAt(line, place) {
  const reference = REFERENCE.exec(line);
  if (reference) return [reference[2], namesIn(place.lines, REFERENCES[reference[1]]).map((name) => value(name))];
  const call = /[{,]\s*(\w*)$/.exec(line);
  if (call) return [call[1], functionsOf(place.schema)];
  const key = /^\s*(?:- )*([\w-]*)$/.exec(line);
  if (key) return [key[1], keysAt(ancestorsOf(place, depthOf(line)), place)];
  const pair = /^\s*(?:- )*["']?([\w-]+)["']?:\s+["']?([\w:.-]*)$/.exec(line);
  return pair ? [pair[2], valuesOf(pair[1], ancestorsOf(place, depthOf(line)), place)] : ["", []];
}

function matching(choices, prefix) {
  const lower = prefix.toLowerCase();
  const starts = choices.filter((each) => each.label.toLowerCase().startsWith(lower));
  const contains = choices.filter((each) => !starts.includes(each) && each.label.toLowerCase().includes(lower));
  return [...starts, ...contains].filter((each) => each.label !== prefix);
}

/** Return the column of the key in a line: dashes of list items count as indentation. */
function depthOf(line) {
  return /^\s*(?:- )*/.exec(line)[0].length;
}

/** Return the keys above a place, the outermost first, with their lines. */
function ancestorsOf({ lines, row }, depth) {
  const found = [];
  let limit = depth;
  for (let at = row - 1; at >= 0 && limit > 0; at -= 1) {
    const key = /^\s*(?:- )*["']?([^\s"'#:][^"'#:]*(?:::[^"'#:]+)*)["']?:(\s|$)/.exec(lines[at]);
    const column = depthOf(lines[at]);
    if (!key || column >= limit) continue;
    found.unshift({ key: key[1], row: at, column });
    limit = column;
  }
  return found;
}

function keysAt(ancestors, place) {
  const node = nodeAt(ancestors, place);
  const keys = Object.entries((node && node.properties) || {});
  const written = keys.map(([name, schema]) => ({ text: `${name}: `, label: name, description: schema.description || "" }));
  return isValuePlace(ancestors) ? [...written, ...functionsOf(place.schema, ": ")] : written;
}

function isValuePlace(ancestors) {
  const [section, , part] = ancestors.map(({ key }) => key);
  return (section === "resources" && part === "properties" && ancestors.length > 3) || (section === "outputs" && part === "value");
}

function valuesOf(key, ancestors, place) {
  const node = nodeAt(ancestors, place);
  const found = node && node.properties && node.properties[key];
  if (!found) return [];
  const variants = [found, ...(found.anyOf || [])];
  const listed = variants.flatMap((each) => each.enum || []).map(String);
  const isFlag = variants.some((each) => [each.type].flat().includes("boolean"));
  return (isFlag && !listed.length ? ["true", "false"] : listed).map((name) => value(name));
}

/** Return the schema of the object whose keys stand at a place. */
function nodeAt(ancestors, { lines, schema }) {
  const [section, , part, ...rest] = ancestors.map(({ key }) => key);
  if (section === undefined) return schema;
  if (section === "parameters" && ancestors.length === 2) return schema.$defs.parameter;
  if (section === "outputs" && ancestors.length === 2) return { properties: { description: {}, value: {}, condition: {} } };
  if (section !== "resources" || ancestors.length < 2) return null;
  if (ancestors.length === 2) return schema.$defs.resource;
  if (part !== "properties") return null;
  return rest.reduce((node, key) => objectIn(node && node.properties && node.properties[key]), schema.$defs[typeOf(lines, ancestors[1])]);
}

/** Return the variant of a property that is an object, or the items of a list that are. */
function objectIn(node) {
  if (!node || node.properties) return node;
  const variants = (node.anyOf || []).map((each) => (each.type === "array" ? objectIn(each.items) : each));
  return variants.find((each) => each && each.properties) || null;
}

function typeOf(lines, { row, column }) {
  for (let at = row + 1; at < lines.length; at += 1) {
    if (lines[at].trim() && depthOf(lines[at]) <= column) return null;
    const found = /^\s*type:\s*["']?([^\s"'#]+)/.exec(lines[at]);
    if (found) return found[1];
  }
  return null;
}

/** Return the names in a section of the template. */
function namesIn(lines, section) {
  const names = [];
  let row = lines.findIndex((line) => line.startsWith(`${section}:`)) + 1;
  if (row === 0) return names;
  const column = depthOf(lines.slice(row).find((line) => line.trim()) || "");
  for (; column > 0 && row < lines.length && (!lines[row].trim() || depthOf(lines[row]) > 0); row += 1) {
    const found = depthOf(lines[row]) === column && /^\s*["']?([^\s"'#:]+)["']?:/.exec(lines[row]);
    if (found) names.push(found[1]);
  }
  return names;
}

function functionsOf(schema, end = ": ") {
  return schema.$defs.function.propertyNames.enum.map((name) => ({ text: `${name}${end}`, label: name, description: "function" }));
}

function value(name) {
  return { text: name, label: name, description: "" };
}
