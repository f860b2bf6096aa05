// Fields by type: an item that is changed, a new one, what an action takes.

import { call, pathOf } from "./api.js";
import { dialog, fill, h, tell, trouble } from "./draw.js";
import { again, go, to } from "./main.js";
import { confirm } from "./confirm.js";
import { a, get, identityOf, set } from "./words.js";

/** Turns the attributes of an item into fields. */
export async function edit(place, { design, record, found, identity }, cancel) {
  // The version of the item as it is edited, where it has one.
  const path = pathOf(record.name, identity);
  const seen = await call(design.name, "GET", `${path}?deleted=include`).catch(() => null);
  const parts = new Set(identityOf(record));
  const editable = record.attributes.filter((one) => one.source.kind === "given" && !one.fixed && (!parts.has(one.name) || one.movable));
  const fields = editable.map((one) => field(design.schema(record.name, one.name), one, get(found.attributes, one.name)));
  const said = h("div");
  const save = (event) => {
    event.preventDefault();
    const changes = [];
    const given = {};
    const faults = [];
    for (const one of fields) {
      const now = one.read();
      const before = get(found.attributes, one.name);
      if (now.fault) faults.push({ attribute: one.name, message: now.fault });
      else if (one.isSecret ? now.value !== undefined : !isSame(now.value, before)) {
        set(given, one.name, now.value === undefined ? null : now.value);
        changes.push({ name: one.name, from: before, to: one.isSecret ? "a new secret" : now.value });
      }
    }
    mark(fields, faults, said);
    if (faults.length > 0) return;
    if (changes.length === 0) return tell("Nothing has changed");
    const headers = seen?.etag ? { "If-Match": seen.etag } : {};
    confirm({
      design, title: "Save these changes?", operation: "update", on: [record.name, ...identity], given, changes,
      carryOut: () => call(design.name, "PATCH", `${path}${found.deleted ? "?deleted=include" : ""}`, { body: given, headers }),
      then: (answer) => {
        tell(answer.job ? "Saved; a job does the rest" : "Saved");
        const moved = answer.body && identityOf(record).map((name) => String(get(answer.body, name) ?? ""));
        if (moved?.every(Boolean) && moved.join("/") !== identity.join("/")) go(to(design.name, "item", [record.name, ...moved]));
        else again();
      },
      refused: (error) => mark(fields, error.faults, said),
    });
  };
  if (fields.length === 0) return tell(`Nothing of ${a(record.name)} can be given: all of it is fixed or derived`);
  fill(place, form(save, fields, said, [h("button", { type: "button", onclick: cancel }, "Discard"), h("button.main", "Save…")]));
  place.querySelector("input, select, textarea")?.focus();
}

/** A new item. */
export async function creation({ design, rest, query }) {
  const record = design.entity(rest[0]);
  if (!record) throw new Error(`There is no entity \`${rest[0]}\` in ${design.name}.`);
  const givable = record.attributes.filter((one) => ["given", "generated"].includes(one.source.kind));
  const needed = (one) => !one.optional && one.source.kind === "given" && one.source.default === null;
  const ordered = [...givable.filter(needed), ...givable.filter((one) => !needed(one))];
  const fields = ordered.map((one) => field(design.schema(record.name, one.name), one, query.get(one.name) ?? undefined, needed(one)));
  const said = h("div");
  const create = (event) => {
    event.preventDefault();
    const given = {};
    const faults = [];
    for (const one of fields) {
      const now = one.read();
      if (now.fault) faults.push({ attribute: one.name, message: now.fault });
      else if (now.value !== undefined) set(given, one.name, now.value);
      else if (one.isNeeded) faults.push({ attribute: one.name, message: "is required" });
    }
    mark(fields, faults, said);
    if (faults.length > 0) return;
    confirm({
      design, title: `Create ${a(record.name)}?`, operation: "create", on: [record.name], given,
      carryOut: () => call(design.name, "POST", encodeURIComponent(record.name), { body: given }),
      then: ({ body }) => {
        tell("Created");
        const made = identityOf(record).map((name) => get(body ?? {}, name));
        go(made.every((one) => one !== undefined) ? to(design.name, "item", [record.name, ...made.map(String)]) : to(design.name, "data", [record.name]));
      },
      refused: (error) => mark(fields, error.faults, said),
    });
  };
  return {
    title: `New ${record.name}`,
    crumbs: [{ text: record.name, href: to(design.name, "data", [record.name]) }],
    body: h("div.thing", record.about && h("p.about", record.about),
      form(create, fields, said, [h("a.button", { href: to(design.name, "data", [record.name]) }, "Cancel"), h("button.main", "Create…")])),
  };
}

/** An action on an item: what it takes, then as every other write. */
export function act({ design, record, identity }, action) {
  const carry = (given, refused = undefined) => confirm({
    design, title: `${action.name}?`, operation: action.name, on: [record.name, ...identity], given,
    carryOut: () => call(design.name, "POST", `${pathOf(record.name, identity)}/${encodeURIComponent(action.name)}`, { body: given ?? {} }),
    then: (answer) => { tell(answer.job ? "Done; a job does the rest" : "Done"); again(); },
    refused,
  });
  const schemas = design.schemas.actions[action.name] ?? {};
  const inputs = (action.input ?? []).map((name) => ({ ...record.attributes.find((one) => one.name === name), name, schema: design.schema(record.name, name) }));
  const parameters = action.parameters.map((one) => ({ ...one, schema: schemas[one.name] ?? {} }));
  const taken = [...inputs, ...parameters];
  if (taken.length === 0) return carry({});
  const fields = taken.map((one) => field(one.schema, one, undefined, !one.optional));
  const said = h("div");
  const submit = (event) => {
    event.preventDefault();
    const given = {};
    const faults = [];
    for (const one of fields) {
      const now = one.read();
      if (now.fault) faults.push({ attribute: one.name, message: now.fault });
      else if (now.value !== undefined) set(given, one.name, now.value);
    }
    mark(fields, faults, said);
    if (faults.length > 0) return;
    close();
    carry(given, (error) => act({ design, record, identity }, action) ?? tell(error.message));
  };
  const close = dialog(action.name, (end) => [action.about && h("p", action.about), form(submit, fields, said, [h("button", { type: "button", onclick: () => end() }, "Cancel"), h("button.main", "Go on…")])]);
}

function form(submit, fields, said, buttons) {
  return h("form.fields", { onsubmit: submit, novalidate: true }, fields.map((one) => one.element), said, h("div.buttons", buttons));
}

/** Shows what is wrong where it is wrong; the rest stands below. */
function mark(fields, faults, said) {
  fill(said);
  const left = [];
  for (const one of fields) one.mark(null);
  for (const fault of faults) {
    const one = fields.find((field) => field.name === fault.attribute || fault.attribute?.startsWith(`${field.name}.`) || fault.attribute?.startsWith(`${field.name}[`));
    if (one) one.mark(fault.message);
    else left.push(fault);
  }
  if (left.length > 0) fill(said, trouble({ title: "It is refused", message: "", faults: left, isFailure: true }));
  fields.find((one) => one.isMarked)?.input.focus();
}

let count = 0;

/** A field for an attribute, by its type. */
export function field(schema, attribute, before, isNeeded = false) {
  count += 1;
  const id = `field-${count}`;
  const input = inputOf(schema, attribute, before);
  input.id = id;
  input.name = attribute.name;
  if (isNeeded) input.setAttribute("aria-required", "true");
  const fault = h("small.fault", { id: `${id}-fault` });
  const hint = hintOf(schema, attribute);
  const made = {
    name: attribute.name, input, isNeeded, isSecret: attribute.secret, isMarked: false,
    element: h("div.field", h("label", { for: id }, attribute.name, isNeeded && h("span.needed", " required")), input, hint && h("small", { id: `${id}-hint` }, hint), fault),
    read: () => readOf(schema, attribute, input, before),
    mark: (message) => {
      made.isMarked = Boolean(message);
      fill(fault, message ?? "");
      input.setAttribute("aria-invalid", String(Boolean(message)));
    },
  };
  input.setAttribute("aria-describedby", `${id}-fault${hint ? ` ${id}-hint` : ""}`);
  return made;
}

function hintOf(schema, attribute) {
  const hints = [attribute.type];
  if (attribute.source?.default) hints.push(`${attribute.value}`);
  if (attribute.source?.kind === "generated") hints.push("made if it is left empty");
  if (schema.type === "array") hints.push("one on each line");
  return hints.filter(Boolean).join(" · ");
}

const LONG = /content|body|text|bio|description|summary|message|about/i;

function inputOf(schema, attribute, before) {
  const text = before === undefined || before === null ? "" : String(before);
  if (attribute.secret) return h("input", { type: "password", autocomplete: "new-password", value: "" });
  if (schema.enum) return choice(schema.enum, text, attribute);
  if (schema.type === "boolean") return choice(["true", "false"], text, attribute);
  if (schema.type === "array" && isFlat(schema)) return h("textarea", { rows: 3, value: (before ?? []).join("\n") });
  if (["array", "object", undefined].includes(schema.type)) {
    return h("textarea.json", { rows: 6, spellcheck: "false", value: before === undefined ? "" : JSON.stringify(before, null, 2) });
  }
  if (schema.type === "integer" || schema.type === "number") return h("input.number", { inputmode: "decimal", autocomplete: "off", value: text });
  const isLong = (schema.maxLength ?? 0) > 300 || LONG.test(attribute.name) || text.length > 120 || text.includes("\n");
  return isLong ? h("textarea", { rows: 4, value: text }) : h("input", { autocomplete: "off", value: text });
}

function choice(words, now, attribute) {
  const isFree = attribute.optional || now === "" || attribute.source?.default;
  return h("select", isFree && h("option", { value: "" }, "—"), words.filter((word) => word !== null).map((word) => h("option", { value: word, selected: String(word) === now }, word)));
}

function isFlat(schema) {
  return ["string", "integer", "number"].includes(schema.items?.type);
}

/** What the field holds: a value, nothing, or what is wrong with it. */
function readOf(schema, attribute, input, before) {
  const text = input.value;
  // What was empty before stays as it was.
  const wasEmpty = before === "" || (Array.isArray(before) && before.length === 0);
  if (text === "") return { value: wasEmpty ? before : undefined };
  if (schema.type === "boolean") return { value: text === "true" };
  if (schema.type === "integer" || schema.type === "number") {
    const found = Number(text);
    return Number.isNaN(found) ? { fault: "must be a number" } : { value: found };
  }
  if (schema.type === "array" && isFlat(schema)) {
    const lines = text.split("\n").map((one) => one.trim()).filter(Boolean);
    return { value: schema.items.type === "string" ? lines : lines.map(Number) };
  }
  if (["array", "object", undefined].includes(schema.type) && !schema.enum) {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return schema.type === undefined ? { value: text } : { fault: "must be JSON" };
    }
  }
  return { value: text };
}

function isSame(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}
