// One partition: the items that are stored together, in the order of their keys.

import { ask } from "./api.js";
import { h, later } from "./draw.js";
import { to } from "./main.js";
import { link, marks } from "./list.js";
import { cell, get, identityOf, key, namedBy, number, plural } from "./words.js";

const PAGE = 100;

export async function partition({ design, rest }) {
  const [table, value] = rest;
  return {
    title: value,
    crumbs: [{ text: table, href: to(design.name, "design", ["diagram"]) }],
    body: await collection(design, table, value, null),
  };
}

/** The items of a partition, grouped where several of one kind follow each other. */
export async function collection(design, table, value, current, cursor = null) {
  if (value === undefined) return h("p.quiet", "The partition key of this item spells a secret.");
  const request = { partition: value, table, limit: PAGE };
  if (cursor) request.cursor = cursor;
  const answer = await ask(design.name, "items", request);
  const sort = design.table(table).key[1];
  const groups = [];
  for (const one of answer.items) {
    if (groups.at(-1)?.record !== one.record) groups.push({ record: one.record, items: [] });
    groups.at(-1).items.push(one);
  }
  const place = h("div.collection",
    !cursor && h("p.quiet", "Everything under ", h("code", `${design.table(table).key[0]} = ${value}`), ", in the order of ", h("code", sort), ". One query reads it."),
    groups.map((group) => section(design, group, sort, current)),
    h("p.quiet", `${plural(answer.items.length, "item")} · ${number(answer.readUnits)} read units`, answer.unrecognised > 0 && ` · ${plural(answer.unrecognised, "item")} that the design does not explain`));
  if (answer.cursor) {
    const more = h("button", { type: "button", onclick: () => more.replaceWith(later(collection(design, table, value, current, answer.cursor), 8)) }, "More");
    place.append(more);
  }
  return place;
}

function section(design, group, sort, current) {
  const record = design.record(group.record);
  const isView = !design.entity(group.record);
  const known = new Set([...identityOf(record), ...group.items.map((one) => namedBy(design, group.record, one.attributes))]);
  const names = (record.attributes ?? []).map((one) => one.name).filter((name) => !known.has(name));
  const shown = names.filter((name) => group.items.some((one) => {
    const found = get(one.attributes, name);
    return found !== undefined && (found === null || typeof found !== "object");
  })).slice(0, 3);
  const isCurrent = (one) => current && JSON.stringify(one.identity) === JSON.stringify(current.identity) && one.record === current.record;
  return h("section",
    h("h2", group.record, " ", h("small", isView ? `view · ${group.items.length}` : group.items.length)),
    h("ul.rows", group.items.map((one) => h("li", { class: one.deleted || one.expired ? "gone" : null, "aria-current": isCurrent(one) ? "true" : null },
      h("span.name", link(design, one), marks(one)),
      h("span.values", shown.map((name) => h("span", { title: name }, cell(design.schema(group.record, name), get(one.attributes, name))))),
      key(typeof record.keys[sort] === "string" ? record.keys[sort] : null, String(one.keys[sort] ?? ""))))));
}
