// Values, names and keys as people read them.

import { h } from "./draw.js";

/** The value at a path with dots. */
export function get(item, path) {
  let value = item;
  for (const step of path.split(".")) {
    if (value === null || typeof value !== "object") return undefined;
    value = value[step];
  }
  return value;
}

/** Sets the value at a path with dots. */
export function set(item, path, value) {
  const steps = path.split(".");
  const last = steps.pop();
  let at = item;
  for (const step of steps) at = at[step] ??= {};
  at[last] = value;
}

const CALLED = ["title", "name", "displayName", "display_name", "username", "label", "subject", "headline"];

/** What people call an item: its title or name, or its first text. */
export function nameOf(design, record, attributes) {
  const found = attributes && namedBy(design, record, attributes);
  return found ? shortened(get(attributes, found), 60) : null;
}

/** The attribute that has what people call an item. */
export function namedBy(design, record, attributes) {
  const entity = design.record(record);
  if (!entity) return null;
  const schemas = design.schemas.records[record] ?? {};
  const isText = (name) => {
    const schema = schemas[name] ?? {};
    return schema.type === "string" && !schema.enum && !schema.format && !schema.pattern;
  };
  const identity = new Set(identityOf(entity));
  const names = (entity.attributes ?? []).map((one) => one.name);
  const known = CALLED.find((name) => typeof attributes[name] === "string" && attributes[name]);
  const first = names.find((name) => !identity.has(name) && isText(name) && typeof get(attributes, name) === "string" && get(attributes, name));
  return known ?? first ?? null;
}

/** The attributes that identify an item, under the names that they are stored by. */
export function identityOf(record) {
  const stored = (part) => (record.attributes ?? []).find((one) => one.name === part || one.alias === part)?.name ?? part;
  return (record.identity ?? []).map(stored);
}

/** An id without its middle: `01JG…DVNE`. */
export function short(id) {
  const text = String(id);
  return text.length > 20 ? `${text.slice(0, 4)}…${text.slice(-4)}` : text;
}

export function shortened(text, most) {
  const line = String(text).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function number(value) {
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

/** `a` or `an`. */
export function a(word) {
  return `${/^[aeiou]/i.test(word) ? "an" : "a"} ${word}`;
}

const STEPS = [[60, "second"], [60, "minute"], [24, "hour"], [30.44, "day"], [12, "month"], [Infinity, "year"]];

/** A time from now, as in `3 hours ago`. */
export function fromNow(millis, now = Date.now()) {
  let value = (millis - now) / 1000;
  for (const [size, unit] of STEPS) {
    if (Math.abs(value) < size || size === Infinity) {
      const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
      return Math.abs(value) < 10 && unit === "second" ? "just now" : format.format(Math.round(value), unit);
    }
    value /= size;
  }
  return "";
}

/** A time, relative, with the exact one on hover. */
class TimeFromNow extends HTMLElement {
  connectedCallback() {
    const date = new Date(this.millis);
    if (Number.isNaN(date.getTime())) return this.replaceChildren(String(this.millis));
    const exact = date.toISOString();
    this.replaceChildren(h("time", { datetime: exact, title: exact }, fromNow(date.getTime())));
  }
}
customElements.define("time-from-now", TimeFromNow);

export function time(millis) {
  return Object.assign(document.createElement("time-from-now"), { millis });
}

/** Milliseconds, where a value of this schema is a time. */
export function millisOf(schema, value) {
  if (schema?.format === "date-time") return Date.parse(value);
  const description = schema?.description ?? "";
  if (typeof value === "number" && /millisecond/i.test(description)) return value;
  if (typeof value === "number" && /second/i.test(description)) return value * 1000;
  return NaN;
}

/** A value, drawn by its type. */
export function value(schema, found) {
  if (found === undefined || found === null) return h("span.none", "—");
  if (typeof found === "boolean") return h("span.pill", found ? "yes" : "no");
  const millis = millisOf(schema, found);
  if (!Number.isNaN(millis)) return time(millis);
  if (typeof found === "number") return h("span.number", number(found));
  if (Array.isArray(found)) {
    if (found.length === 0) return h("span.none", "none");
    const isFlat = found.every((one) => typeof one !== "object");
    if (isFlat) return h("span.chips", found.map((one) => h("span.pill", String(one))));
  }
  if (typeof found === "object") return h("pre.value", JSON.stringify(found, null, 2));
  if (schema?.enum) return h("span.pill", found);
  return h("span.text", String(found));
}

/** The same in a line of a table. */
export function cell(schema, found) {
  if (Array.isArray(found) && found.every((one) => typeof one !== "object")) {
    return found.length === 0 ? h("span.none", "none") : shortened(found.join(", "), 60);
  }
  if (found !== null && typeof found === "object") {
    return h("span.quiet", shortened(JSON.stringify(found), 40));
  }
  if (typeof found === "string" && Number.isNaN(millisOf(schema, found)) && !schema?.enum) {
    return /^[0-9A-HJKMNP-TV-Z]{26}$|^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(found) ? h("span.id", { title: found }, short(found)) : shortened(found, 80);
  }
  return value(schema, found);
}

/** A key, with the parts that its template fills in marked. */
export function key(template, text) {
  const parts = partsOf(template, text);
  if (!parts) return h("code.key", text);
  return h("code.key", parts.map((part) => part.name ? h("b", { title: part.name }, part.text) : part.text));
}

/** A text, divided as its template says; null if it does not fit. */
export function partsOf(template, text) {
  if (typeof template !== "string") return null;
  const pieces = template.split(/(\{[^}]*\})/).filter((piece) => piece !== "");
  const isHole = (piece) => piece.startsWith("{");
  const source = pieces.map((piece) => (isHole(piece) ? "([^#]+)" : `(${piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})`));
  const found = new RegExp(`^${source.join("")}$`, "s").exec(text);
  if (!found) return null;
  return pieces.map((piece, at) => ({ name: isHole(piece) ? piece.slice(1, -1) : null, text: found[at + 1] }));
}

/** What a primary key belongs to: the record and its identity. */
export function recognise(design, table, partition, sort) {
  const names = design.table(table)?.key;
  if (!names) return null;
  if (sort === "UNIQUE") {
    for (const entity of design.entities) {
      const guard = entity.unique.find((one) => partsOf(one.key, partition));
      if (guard) return { guard: guard.name, record: entity.name, identity: null };
    }
  }
  for (const record of design.records) {
    if (record.table !== table) continue;
    const first = partsOf(record.keys[names[0]], partition);
    const second = first && partsOf(record.keys[names[1]], sort);
    if (!second) continue;
    const found = {};
    for (const part of [...first, ...second]) if (part.name) found[part.name] = part.text;
    const identity = (record.identity ?? []).map((name) => found[name]);
    return { record: record.name, identity: identity.every((one) => one !== undefined) ? identity : null };
  }
  return null;
}
