// The items of an entity, or the records of a view.

import { ask } from "./api.js";
import { fill, h, later } from "./draw.js";
import { go, to } from "./main.js";
import { a, cell, get, identityOf, nameOf, namedBy, number, plural, short } from "./words.js";

const PAGE = 50;

export async function list({ design, rest, query }) {
  const record = design.record(rest[0]);
  if (!record) throw new Error(`There is no entity \`${rest[0]}\` in ${design.name}.`);
  const isEntity = Boolean(design.entity(record.name));
  const having = Object.fromEntries([...query].filter(([name]) => name !== "cursor"));
  const found = h("div");
  const body = [
    h("div.bar",
      record.about && h("p.about", record.about),
      isEntity && h("a.button.main", { href: to(design.name, "new", [record.name]) }, `New ${record.name}`)),
    filters(design, record, having),
    found,
  ];
  found.append(later(page(design, record, having, null), 10));
  return { title: record.name, body: h("div", body) };
}

/** One page, with a button for the next. */
async function page(design, record, having, cursor) {
  const request = { record: record.name, having, limit: PAGE };
  if (cursor) request.cursor = cursor;
  const answer = await ask(design.name, "items", request);
  const place = h("div");
  const next = answer.cursor && h("button", { type: "button", onclick: (event) => event.target.parentNode.replaceWith(later(page(design, record, having, answer.cursor), 10)) }, "Next page");
  if (answer.items.length === 0 && !answer.cursor && !cursor) {
    place.append(empty(design, record, having));
  } else if (answer.items.length === 0) {
    place.append(h("p.quiet", "None among the items that were looked at."));
  } else {
    place.append(table(design, record, answer.items));
  }
  place.append(h("footer.page", cost(design, record, answer, having), next));
  return place;
}

function empty(design, record, having) {
  if (Object.keys(having).length > 0) {
    return h("div.empty", h("p", `No ${record.name} has these values.`), h("a.button", { href: to(design.name, "data", [record.name]) }, "Show all"));
  }
  if (!design.entity(record.name)) return h("div.empty", h("p", "There are no records of this view yet."));
  return h("div.empty",
    h("p", `There is no ${record.name} yet.`),
    h("a.button.main", { href: to(design.name, "new", [record.name]) }, `Create ${a(record.name)}`),
    h("p.quiet", "Or fill the design with items that belong together: ", h("code", `partita demo ${design.name}`)));
}

/** What the page took, and what would take less. */
function cost(design, record, answer, having) {
  const patterns = design.listing(record.name).filter((one) => one.read !== "scan");
  const shown = plural(answer.items.length, "item");
  return h("details.cost", { open: Object.keys(having).length > 0 },
    h("summary", `${shown} of ${number(answer.examined)} that were read · ${number(answer.readUnits)} read units`),
    h("p", `DynamoDB keeps no list of ${record.name}: the console goes through the table, at most 1,000 items a page, and shows those that ${Object.keys(having).length ? "have these values" : `are ${a(record.name)}`}. That costs the same however few it finds, and grows with the table.`),
    patterns.length > 0 && h("p", "These patterns read only what they show: ", patterns.map((one, at) => [at > 0 && ", ", h("a", { href: to(design.name, "pattern", [one.name]) }, one.name)]), "."),
    patterns.length === 0 && h("p", `No pattern of the design answers ${record.name}. If you need this list often, give it a key and a pattern.`));
}

/** Columns: what people look for first. */
function columnsOf(design, record, items) {
  const names = (record.attributes ?? []).map((one) => one.name);
  const kept = names.length > 0 ? names : [...new Set(items.flatMap((one) => Object.keys(one.attributes)))];
  const identity = new Set(identityOf(record));
  for (const one of items) identity.add(namedBy(design, record.name, one.attributes));
  const present = kept.filter((name) => !identity.has(name) && items.some((one) => get(one.attributes, name) !== undefined));
  const isSmall = (name) => items.every((one) => {
    const value = get(one.attributes, name);
    return value === null || typeof value !== "object" || Array.isArray(value);
  });
  const isShort = (name) => items.every((one) => String(get(one.attributes, name) ?? "").length <= 60);
  const small = present.filter(isSmall);
  return [...small.filter(isShort), ...small.filter((name) => !isShort(name))].slice(0, 6);
}

export function table(design, record, items) {
  const columns = columnsOf(design, record, items);
  const row = (one) => h("tr", { class: one.deleted || one.expired ? "gone" : null },
    h("th", { scope: "row" }, link(design, one), marks(one)),
    columns.map((name) => h("td", { "data-label": name }, cell(design.schema(record.name, name), get(one.attributes, name)))));
  return h("div.scroll", { tabindex: "0", role: "region", "aria-label": `${record.name}, ${items.length} shown` },
    h("table.data",
      h("thead", h("tr", h("th", { scope: "col" }, record.name), columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", items.map(row))));
}

/** An item by its name and its id, as a link. */
export function link(design, one) {
  const name = nameOf(design, one.record, one.attributes);
  if (!one.identity) return h("span", name ?? one.record, " ", h("small", "its identity is a secret"));
  const id = h("small.id", { title: one.identity.join(" / ") }, one.identity.map(short).join(" / "));
  return h("a", { href: to(design.name, "item", [one.record, ...one.identity]) }, name && h("span", name, " "), id);
}

/** What must be known of an item before all else. */
export function marks(one) {
  return [one.deleted && h("span.pill.bad", "deleted"), one.expired && h("span.pill.warn", "expired")];
}

/** Items with certain values, by going through the table. */
function filters(design, record, having) {
  const attributes = (record.attributes ?? []).filter((one) => !one.secret && isPlain(design.schema(record.name, one.name)));
  if (attributes.length === 0) return null;
  const without = (name) => to(design.name, "data", [record.name], Object.fromEntries(Object.entries(having).filter(([known]) => known !== name)));
  const value = h("span");
  const select = h("select", { name: "attribute", "aria-label": "Attribute", onchange: () => drawValue() }, attributes.map((one) => h("option", { value: one.name }, one.name)));
  const drawValue = () => fill(value, valueField(design.schema(record.name, select.value)));
  drawValue();
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    go(to(design.name, "data", [record.name], { ...having, [form.get("attribute")]: form.get("value") }));
  };
  return h("form.filters", { onsubmit: submit, "aria-label": "Filter" },
    Object.entries(having).map(([name, text]) => h("span.pill", `${name} = ${text} `, h("a", { href: without(name), "aria-label": `Remove the filter ${name}` }, "×"))),
    select, h("span", "is"), value, h("button", "Filter"));
}

function isPlain(schema) {
  return ["string", "boolean", "integer", "number"].includes(schema.type);
}

function valueField(schema) {
  if (schema.enum) return h("select", { name: "value", "aria-label": "Value" }, schema.enum.map((one) => h("option", { value: one }, one)));
  if (schema.type === "boolean") return h("select", { name: "value", "aria-label": "Value" }, ["true", "false"].map((one) => h("option", { value: one }, one)));
  return h("input", { name: "value", "aria-label": "Value", required: true, autocomplete: "off" });
}
