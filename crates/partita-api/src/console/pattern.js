// A pattern as a form: its result, and the very query.

import { actor, ask, call, held } from "./api.js";
import { copyButton, h, later, trouble } from "./draw.js";
import { chooseActor } from "./frame.js";
import { again, go, to } from "./main.js";
import { table } from "./list.js";
import { field } from "./editor.js";
import { lineLink, rulings } from "./confirm.js";
import { get, identityOf, number, plural } from "./words.js";

export async function pattern({ design, rest, query }) {
  const asked = design.pattern(rest[0]);
  if (!asked) throw new Error(`There is no pattern \`${rest[0]}\` in ${design.name}.`);
  const schemas = design.schemas.patterns[asked.name] ?? {};
  const given = Object.fromEntries([...query].filter(([name]) => asked.parameters.some((one) => one.name === name)));
  const fields = asked.parameters.map((one) => field(schemas[one.name] ?? {}, one, given[one.name], !one.optional));
  const isRun = query.has("run") || (asked.parameters.length === 0 && query.get("run") !== "no");
  const submit = (event) => {
    event.preventDefault();
    const values = Object.fromEntries(fields.map((one) => [one.name, one.input.value]).filter(([, text]) => text !== ""));
    const address = to(design.name, "pattern", [asked.name], { ...values, run: 1 });
    if (address === location.hash) again();
    else go(address);
  };
  const result = h("div");
  if (isRun) result.append(later(run(design, asked, given), 8));
  else result.append(h("div.empty", h("p", "Fill in the parameters and run the pattern.")));
  return {
    title: asked.name,
    crumbs: [{ text: "Patterns", href: to(design.name, "design", ["patterns"]) }],
    body: h("div",
      h("div.bar", asked.about && h("p.about", asked.about), lineLink(design, asked.line)),
      h("form.fields.row", { onsubmit: submit, novalidate: true }, fields.map((one) => one.element), h("div.buttons", h("button.main", "Run"))),
      result,
      question(design, asked, given)),
  };
}

async function run(design, asked, given, cursor = null) {
  const who = await actor(design.name).catch(() => null);
  if (held.operator && !who) {
    return h("div.empty", h("p", "Patterns are asked by users: their rules decide what is shown."), h("button.main", { type: "button", onclick: () => chooseActor(design.name) }, "Choose whom to ask as…"));
  }
  const parameters = new URLSearchParams(given);
  if (cursor) parameters.set("cursor", cursor);
  const path = `query/${encodeURIComponent(asked.name)}${parameters.size ? `?${parameters}` : ""}`;
  let body;
  try {
    ({ body } = await call(design.name, "GET", path));
  } catch (error) {
    return error.status === 404 ? h("div.empty", h("p", "There is nothing at this key, or nothing that you may read.")) : trouble(error);
  }
  const attributes = asked.one || asked.read === "get" ? [body] : body.items;
  const items = attributes.map((one) => rowOf(design, asked, one));
  const place = h("div");
  if (items.length === 0) place.append(h("div.empty", h("p", "It finds nothing.")));
  for (const [name, rows] of grouped(items)) place.append(table(design, design.record(name), rows));
  if (body.cursor) {
    const more = h("button", { type: "button", onclick: () => more.replaceWith(later(run(design, asked, given, body.cursor), 8)) }, "Next page");
    place.append(more);
  }
  if (!cursor) place.append(later(taken(design, asked, given, who, items.length), 2));
  return place;
}

/** A row as the list draws it: the record is the first of the pattern's whose identity it has. */
function rowOf(design, asked, attributes) {
  const discriminator = design.description.tables.map((one) => one.discriminator).find(Boolean);
  const marked = discriminator && attributes[discriminator];
  const followed = asked.follow ? followedOf(design, asked) : [];
  const names = [...followed, ...asked.returns];
  const valuesOf = (record) => identityOf(record).map((name) => get(attributes, name));
  const fits = (name) => {
    const record = design.record(name);
    return record && valuesOf(record).every((one) => one !== undefined);
  };
  const byMark = names.find((name) => marked && design.record(name)?.discriminator === marked);
  const name = byMark ?? names.find(fits) ?? asked.returns[0];
  const record = design.record(name);
  const identity = valuesOf(record);
  // Where a word or a time says that it is deleted, only the item's own page tells.
  const deleted = record.softDelete ? get(attributes, record.softDelete) === true : false;
  return { record: name, attributes, identity: identity.every((one) => one !== undefined) ? identity.map(String) : null, deleted, expired: false };
}

function followedOf(design, asked) {
  const refs = asked.returns.flatMap((name) => {
    const record = design.record(name);
    const refs = record?.refs ?? [];
    const own = refs.filter((one) => one.name === asked.follow).flatMap((one) => one.targets.map((target) => target.to));
    return own.length > 0 ? own : record?.of ? [record.of] : [];
  });
  return refs;
}

function grouped(items) {
  const groups = new Map();
  for (const one of items) {
    if (!groups.has(one.record)) groups.set(one.record, []);
    groups.get(one.record).push(one);
  }
  return groups;
}

/** What the read took: rows that were looked at, and those that rules and filter left out. */
async function taken(design, asked, given, who, shown) {
  const question = { operation: "query", on: [asked.name, ...Object.entries(given).map(([name, text]) => `${name}=${text}`)], caller: who?.user, groups: who?.groups ?? [] };
  if (who?.role) question.role = who.role;
  const [plan, can] = await Promise.all([ask(design.name, "plan", question), ask(design.name, "can", question)]);
  const requests = plan.request.requests ?? [];
  const looked = requests.filter((one) => one.operation !== "BatchGetItem").reduce((sum, one) => sum + one.items, 0);
  return h("section.taken", h("h2", "What it took"),
    h("p", `${plural(shown, "row")} shown, ${number(looked)} looked at, ${number(plan.request.readUnits ?? 0)} read units.`),
    h("ul.plain", requests.map((one) => h("li", `${one.operation}${one.index ? ` of ${one.index}` : ""}: ${plural(one.items, "item")}, ${number(one.bytes)} bytes, ${number(one.readUnits)} read units`))),
    h("h3", "Who may"), rulings(design, can.rulings));
}

/** The very query, and the same to copy. */
function question(design, asked, given) {
  const texts = commands(design, asked, given);
  const facts = [
    ["Reads", `${asked.read === "get" ? "GetItem" : asked.read === "scan" ? "Scan" : "Query"} of ${asked.index ?? "the table"}`],
    ["Key", asked.condition],
    ["Filter", asked.filter],
    ["Order", asked.read === "query" ? (asked.descending ? "descending" : "ascending") : null],
    ["Page", `${asked.limit} rows at most`],
    ["Follows", asked.follow],
  ].filter(([, text]) => text);
  return h("section.query", h("h2", "The query"),
    h("dl.attributes.small", facts.map(([name, text]) => h("div", h("dt", name), h("dd", h("code", text))))),
    h("div.bar", copyButton("Copy as curl", texts.curl), texts.aws && copyButton("Copy as AWS CLI", texts.aws)),
    h("details", h("summary", "Show the commands"), h("pre.code", { tabindex: "0" }, [texts.curl, texts.aws].filter(Boolean).join("\n\n"))));
}

function quoted(text) {
  return `'${String(text).replaceAll("'", "'\\''")}'`;
}

function commands(design, asked, given) {
  const parameters = new URLSearchParams(given);
  const url = `${location.origin}/${design.name}/query/${encodeURIComponent(asked.name)}${parameters.size ? `?${parameters}` : ""}`;
  return { curl: `curl -H "Authorization: Bearer $TOKEN" ${quoted(url)}`, aws: aws(design, asked, given) };
}

/** The query for the AWS CLI, as far as plain templates say it. */
function aws(design, asked, given) {
  if (asked.read === "scan" || !asked.condition) return null;
  const parts = asked.condition.split(/\s+AND\s+(?![^']*'\s*\))/i).map((text) => text.trim());
  const filled = (template) => template.replace(/\{(\w+)[^}]*\}/g, (_, part) => given[part] ?? `<${part}>`);
  const keys = parts.map((text) => {
    const begins = /^begins_with\((\S+),\s*'(.*)'\)$/i.exec(text);
    if (begins) return { name: begins[1], operator: "begins_with", text: filled(begins[2]) };
    const compared = /^(\S+)\s*(=|<=|>=|<|>)\s*'(.*)'$/.exec(text);
    return compared && { name: compared[1], operator: compared[2], text: filled(compared[3]) };
  });
  // A range or a number is said in another way than by a template.
  if (keys.length === 0 || keys.some((one) => !one)) return null;
  const tables = design.description.tables;
  const tableName = design.record(asked.returns[0])?.table ?? tables[0].name;
  const values = Object.fromEntries(keys.map((one, at) => [`:${at}`, { S: one.text }]));
  const names = Object.fromEntries(keys.map((one, at) => [`#${at}`, one.name]));
  if (asked.read === "get") {
    const key = Object.fromEntries(keys.map((one) => [one.name, { S: one.text }]));
    return `aws dynamodb get-item --endpoint-url ${location.origin} --table-name ${quoted(tableName)} --key ${quoted(JSON.stringify(key))}`;
  }
  const condition = keys.map((one, at) => (/begins/.test(one.operator) ? `begins_with(#${at}, :${at})` : `#${at} ${one.operator} :${at}`)).join(" AND ");
  return [
    `aws dynamodb query --endpoint-url ${location.origin} --table-name ${quoted(tableName)}`,
    asked.index && `--index-name ${quoted(asked.index)}`,
    `--key-condition-expression ${quoted(condition)}`,
    `--expression-attribute-names ${quoted(JSON.stringify(names))}`,
    `--expression-attribute-values ${quoted(JSON.stringify(values))}`,
    asked.descending && "--no-scan-index-forward",
    `--limit ${asked.limit}`,
  ].filter(Boolean).join(" \\\n  ");
}
