// One item: what it is, what it belongs to, and why it is so.

import { ask, call, pathOf } from "./api.js";
import { add, copyButton, fill, h, later, tell, trouble } from "./draw.js";
import { again, go, to } from "./main.js";
import { link, marks } from "./list.js";
import { collection } from "./collection.js";
import { confirm } from "./confirm.js";
import { edit, act } from "./editor.js";
import { why, whoMay } from "./why.js";
import { get, key, nameOf, number, plural, short, value } from "./words.js";

const TABS = [["item", "Item"], ["collection", "Collection"], ["json", "JSON"]];

/** What an item is, as administrators read it. */
export async function read(design, record, identity) {
  const answer = await ask(design.name, "items", { record, identity });
  return answer.items[0] ?? null;
}

export async function item({ design, rest, query }) {
  const [name, ...identity] = rest;
  const record = design.record(name);
  if (!record) throw new Error(`There is no entity \`${name}\` in ${design.name}.`);
  const found = await read(design, name, identity);
  const crumbs = [{ text: name, href: to(design.name, "data", [name]) }];
  const title = (found && nameOf(design, name, found.attributes)) ?? identity.map(short).join(" / ");
  if (!found) return { title, crumbs, body: missing(design, record, identity) };
  const tab = query.get("tab") ?? "item";
  const here = (id) => to(design.name, "item", rest, id === "item" ? {} : { tab: id });
  const tabs = h("nav.tabs", { "aria-label": "Views of the item" }, TABS.map(([id, text]) => h("a", { href: here(id), "aria-current": tab === id ? "page" : null }, text)));
  const explained = h("aside.why", { "aria-label": "Explanation" });
  const context = { design, record, found, identity, explained };
  const body = {
    collection: () => later(collection(design, record.table, partitionOf(design, record, found), found), 8),
    json: () => json(found),
  }[tab] ?? (() => overview(context));
  return {
    title, crumbs,
    body: h("div.item",
      h("div.thing", h("p.id", h("span", name), " ", h("code", identity.join(" / ")), copyButton("Copy id", identity.join("/")), marks(found)), tabs, body()),
      tab === "item" && explained),
  };
}

function missing(design, record, identity) {
  return h("div.empty",
    h("p", `There is no ${record.name} with the identity `, h("code", identity.join(" / ")), "."),
    h("a.button", { href: to(design.name, "data", [record.name]) }, `All of ${record.name}`));
}

function partitionOf(design, record, found) {
  return found.keys[design.table(record.table).key[0]];
}

function json(found) {
  const text = JSON.stringify(found.attributes, null, 2);
  return h("div", h("div.bar", copyButton("Copy JSON", text)), h("pre.code", { tabindex: "0" }, text));
}

/** Attributes in the design's order, then keys, then what is around. */
function overview(context) {
  const { design, record, found, explained } = context;
  const isEntity = Boolean(design.entity(record.name));
  const place = h("div");
  const view = () => {
    fill(place, attributes(context), keys(context), around(context), isEntity && buttons(context, start));
  };
  const start = () => edit(place, context, view);
  view();
  whoMay(explained, context);
  return place;
}

function attributes(context) {
  const { design, record, found } = context;
  const declared = record.attributes ?? [];
  const names = new Set(declared.map((one) => one.name));
  const isInside = (name) => [...names].some((known) => known.startsWith(`${name}.`));
  const others = Object.keys(found.attributes).filter((name) => !names.has(name) && !isInside(name));
  const rows = declared.map((one) => row(context, one, get(found.attributes, one.name)));
  const rest = others.map((name) => row(context, { name, source: { kind: "given" } }, found.attributes[name]));
  return h("dl.attributes", rows, rest);
}

export function isDerived(attribute) {
  return ["number", "copy", "computed"].includes(attribute.source?.kind);
}

function row(context, attribute, found) {
  const { design, record } = context;
  const schema = design.schema(record.name, attribute.name);
  const derived = isDerived(attribute);
  const shown = attribute.secret ? h("span.none", "secret, shown to nobody") : value(schema, found);
  const target = targetBy(context, attribute.name);
  return h("div", { class: derived ? "derived" : null },
    h("dt", h("span", attribute.name)),
    h("dd", shown,
      target && h("a.ref", { href: to(design.name, "item", [target.to, ...target.identity]) }, `${target.to} ↗`),
      derived && h("button.why", { type: "button", "aria-label": `Why is ${attribute.name} so?`, title: "Why?", onclick: () => why(context, attribute) }, "ƒ")));
}

/** Where a ref leads whose last part this attribute is. */
function targetBy(context, name) {
  for (const reference of context.record.refs ?? []) {
    const target = resolve(context, reference);
    if (target?.last === name) return target;
  }
  return null;
}

/** Where a ref of the item leads, as far as its own attributes say it. */
export function resolve({ design, found }, reference) {
  for (const target of reference.targets) {
    const entity = design.entity(target.to);
    if (!entity || target.via) continue;
    if (target.when !== null && reference.by && get(found.attributes, reference.by) !== target.when) continue;
    const paths = entity.identity.map((part) => target.arguments[part]);
    const identity = paths.map((path) => (path === undefined ? undefined : get(found.attributes, path)));
    if (identity.some((one) => one === undefined || one === null || typeof one === "object")) continue;
    return { to: target.to, identity: identity.map(String), last: paths.at(-1), name: reference.name };
  }
  return null;
}

/** The keys, spelled with their templates. */
function keys({ design, record, found }) {
  const rows = keyNames(design, record).map((name) => {
    const template = record.keys[name];
    const text = found.keys[name];
    const written = templateOf(template, text);
    return h("div", h("dt", name), h("dd", text === undefined ? h("span.none", "—") : key(written, String(text)), " ", h("code.template", written ?? "")));
  });
  return h("details.keys", { open: true }, h("summary", `Keys in ${record.table}`), h("dl.attributes.small", rows));
}

/** The key of the table first, then those of its indexes. */
function keyNames(design, record) {
  const { key: own, indexes } = design.table(record.table);
  const names = [...own, ...indexes.flatMap((one) => one.key.map((part) => part.name))];
  return names.filter((name, at) => name in record.keys && names.indexOf(name) === at);
}

function templateOf(template, text) {
  if (typeof template === "string") return template;
  if (!Array.isArray(template)) return null;
  const prefix = (one) => one.is.split("{")[0];
  return (template.find((one) => text !== undefined && String(text).startsWith(prefix(one))) ?? template[0])?.is;
}

/** What the item refers to, and who refers to it. */
function around(context) {
  const { design, record, found, identity } = context;
  if (!design.entity(record.name)) return null;
  const out = (record.refs ?? []).map((one) => resolve(context, one)).filter(Boolean);
  const back = design.entities.flatMap((entity) => entity.refs
    .filter((one) => one.targets.some((target) => target.to === record.name))
    .map((reference) => ({ entity, reference })));
  if (out.length === 0 && back.length === 0) return null;
  return h("section.around",
    out.length > 0 && [h("h2", "Refers to"), h("ul.plain", out.map((one) => h("li", h("span.quiet", `${one.name}: `), named(design, one.to, one.identity))))],
    back.length > 0 && [h("h2", "Referred to by"), h("ul.plain", back.map((one) => referrers(context, one)))]);
}

/** A link with the name of its item, once it is known. */
export function named(design, record, identity) {
  const text = h("span");
  const anchor = h("a", { href: to(design.name, "item", [record, ...identity]) }, text, " ", h("small.id", identity.map(short).join(" / ")));
  fill(text, record);
  read(design, record, identity).then((found) => {
    if (!found) fill(text, `${record}, which is missing`);
    else fill(text, nameOf(design, record, found.attributes) ?? record);
  }, () => {});
  return anchor;
}

function referrers({ design, record, identity }, { entity, reference }) {
  const place = h("li");
  const request = { record: record.name, identity, of: entity.name, by: reference.name, limit: 20 };
  const label = `${entity.name} by ${reference.name}`;
  const open = async () => {
    fill(place, h("span.quiet", `${label}: looking…`));
    try {
      const answer = await ask(design.name, "items", request);
      const more = answer.hasMore || answer.cursor;
      fill(place, h("strong", `${plural(answer.items.length, entity.name, entity.name)}${more ? " and more" : ""}`), h("span.quiet", ` by ${reference.name} · ${number(answer.readUnits)} read units`),
        h("ul.plain", answer.items.map((one) => h("li", link(design, one), marks(one)))));
    } catch (error) {
      fill(place, trouble(error));
    }
  };
  return add(place, [h("button.small", { type: "button", onclick: open }, label)]);
}

function buttons(context, start) {
  const { design, record, found, identity } = context;
  const done = (text) => (answer) => { tell(answer.job ? `${text}; a job does the rest` : text); again(); };
  const ask = (operation, title, method, path, then) => () => confirm({
    design, title, operation, on: [record.name, ...identity],
    carryOut: () => call(design.name, method, path),
    then,
  });
  const path = pathOf(record.name, identity);
  const actions = design.actions.filter((one) => one.on.includes(record.name));
  const title = nameOf(design, record.name, found.attributes) ?? identity.map(short).join(" / ");
  return h("div.buttons",
    found.deleted
      ? h("button.main", { type: "button", onclick: ask("restore", `Restore “${title}”?`, "POST", `${path}/restore`, done("Restored")) }, "Restore…")
      : [
        h("button.danger", { type: "button", onclick: ask("delete", `Delete “${title}”?`, "DELETE", path, (answer) => { tell("Deleted"); record.softDelete ? again() : go(to(design.name, "data", [record.name])); }) }, "Delete…"),
        h("span.space"),
        actions.map((action) => h("button", { type: "button", title: action.about, onclick: () => act(context, action) }, `${action.name}…`)),
        h("button.main", { type: "button", onclick: start }, "Edit"),
      ]);
}
