// The design: its file, its access patterns, who may do what, and a picture of it.

import { copyButton, fill, h } from "./draw.js";
import { diagram } from "./diagram.js";
import { lineLink } from "./confirm.js";
import { to } from "./main.js";
import { number, plural } from "./words.js";

/** Columns of numbers. */
const NUMBERS = /^(Rows|Read units|Full at, in a second|Items|Bytes|Write units|Requests|Refused|Failed|p50|p99)$/;

export async function design({ design: served, rest, query }) {
  const page = rest[0] ?? "file";
  const screens = { file, patterns, access, diagram: picture };
  const titles = { file: `${served.name}.toml`, patterns: "Access patterns", access: "Who may do what", diagram: "Diagram" };
  const show = screens[page];
  if (!show) throw new Error("There is no such page.");
  return { title: titles[page], crumbs: [{ text: "Design", href: to(served.name, "design", ["file"]) }], body: show(served, query) };
}

/** The file, line by line, with what `partita check` says beside its lines. */
function file(served, query) {
  const wanted = Number(query.get("line")) || null;
  const found = new Map();
  for (const one of served.diagnostics) {
    const line = one.start.line;
    found.set(line, [...(found.get(line) ?? []), one]);
  }
  const lines = served.text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const listing = h("div.file", { tabindex: "0", role: "region", "aria-label": "The file" }, h("ol", lines.map((text, at) => {
    const number = at + 1;
    return h("li", { id: `line-${number}`, class: number === wanted ? "wanted" : null }, h("span.no", { "aria-hidden": "true" }, number), coloured(text),
      (found.get(number) ?? []).map((one) => h("div.note", { class: one.severity }, h("strong", `${one.severity} ${one.code}`), ` ${one.message}`, one.help && h("span", ` ${one.help}`))));
  })));
  if (wanted) requestAnimationFrame(() => document.getElementById(`line-${wanted}`)?.scrollIntoView({ block: "center" }));
  const counts = served.diagnostics.length;
  return h("div",
    h("div.bar", h("p", counts === 0 ? [h("span.pill.good", "checked"), " No mistakes and no risks."] : [h("span.pill.warn", plural(counts, "remark")), " ", [...found.keys()].slice(0, 12).map((line) => [h("a", { href: to(served.name, "design", ["file"], { line }) }, `line ${line}`), " "])]), copyButton("Copy the file", served.text)),
    listing);
}

/** A line of TOML with quiet colours. */
function coloured(text) {
  const parts = [];
  const pattern = /(#.*$)|("(?:[^"\\]|\\.)*"|'[^']*')|(^\s*\[[^\]]*\]+)|(^\s*[\w."'-]+(?=\s*=))/g;
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index < from) continue;
    parts.push(text.slice(from, found.index));
    const kind = found[1] ? "comment" : found[2] ? "string" : found[3] ? "head" : "name";
    parts.push(h(`span.${kind}`, found[0]));
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return h("code", parts, text === "" ? "\u200b" : null);
}

/** Patterns with index and cost. */
function patterns(served) {
  const costs = new Map(served.cost.patterns.map((one) => [one.name, one]));
  const writes = served.cost.writes;
  return h("div",
    h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Access patterns" }, h("table",
      h("thead", h("tr", ["Pattern", "Reads", "Key", "Answers", "Rows", "Read units", "Full at, in a second"].map((one) => h(NUMBERS.test(one) ? "th.number" : "th", { scope: "col" }, one)))),
      h("tbody", served.patterns.map((one) => {
        const cost = costs.get(one.name);
        return h("tr",
          h("th", { scope: "row" }, h("a", { href: to(served.name, "pattern", [one.name]) }, one.name), one.about && h("small", one.about)),
          h("td", one.read === "get" ? "GetItem" : one.read === "scan" ? h("span.pill.warn", "Scan") : one.index ?? "table"),
          h("td", h("code", one.condition)),
          h("td", one.returns.join(", ")),
          h("td.number", number(cost?.rows ?? 0)),
          h("td.number", number(cost?.readUnits ?? 0)),
          h("td.number", cost?.partition ? number(Math.floor(cost.partition.mostPerSecond)) : "—"));
      })))),
    h("h2", "Writes"),
    h("p.quiet", "The largest transaction that each can become."),
    h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Writes" }, h("table",
      h("thead", h("tr", ["Write", "Items", "Bytes", "Write units", "Full first"].map((one) => h(NUMBERS.test(one) ? "th.number" : "th", { scope: "col" }, one)))),
      h("tbody", writes.map((one) => h("tr", h("th", { scope: "row" }, one.name, one.jobs && h("small", "a job does the rest")),
        h("td.number", number(one.items)), h("td.number", number(one.bytes)), h("td.number", number(one.writeUnits)),
        h("td", one.partitions[0] ? [h("code", one.partitions[0].key), ` at ${number(Math.floor(one.partitions[0].mostPerSecond))}/s`] : "—")))))));
}

/** The access matrix. */
function access(served) {
  const word = (text) => {
    if (text === "yes") return h("span.pill.good", "yes");
    if (text === "no") return h("span.none", "no");
    return h("code", text);
  };
  const body = h("tbody");
  const draw = (wanted) => {
    const rows = served.access.filter((one) => `${one.method} ${one.path} ${one.operation} ${one.rules.join(" ")}`.toLowerCase().includes(wanted.toLowerCase()));
    fill(body, rows.map((one) => h("tr",
      h("th", { scope: "row" }, h("code", `${one.method} /${one.path}`), h("small", one.operation)),
      h("td", one.rules.map((rule) => h("code", rule))),
      one.outcomes.map((text) => h("td", word(text))))),
    rows.length === 0 && h("tr", h("td", { colspan: 8 }, "No request is called so.")));
  };
  draw("");
  return h("div",
    h("p.about", "Every request that the design answers, and what six callers are told: yes, no, or the condition on the item under which it is yes."),
    h("label.field.search", h("span", "Find a request"), h("input", { type: "search", placeholder: "approve", oninput: (event) => draw(event.target.value) })),
    h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Access matrix" }, h("table.matrix",
      h("thead", h("tr", h("th", { scope: "col" }, "Request"), h("th", { scope: "col" }, "Rule"), served.callers.map((one) => h(NUMBERS.test(one) ? "th.number" : "th", { scope: "col" }, one)))),
      body)));
}

function picture(served) {
  const { tables } = served.description;
  return h("div",
    h("p.about", "Entities and what refers to what; dotted lines lead to views. Choose one to see its items."),
    diagram(served),
    tables.map((table) => h("section", h("h2", table.name),
      h("p", "Keys ", h("code", table.key.join(" and ")), table.indexes.length > 0 && [", indexes ", table.indexes.map((one, at) => [at > 0 && ", ", h("code", `${one.name} (${one.key.map((key) => key.name).join(", ")})`)])], "."),
      h("div.scroll", { tabindex: "0", role: "region", "aria-label": `Keys of ${table.name}` }, h("table",
        h("thead", h("tr", h("th", { scope: "col" }, "Record"), table.key.map((one) => h(NUMBERS.test(one) ? "th.number" : "th", { scope: "col" }, one)), h("th", { scope: "col" }, "Line"))),
        h("tbody", served.records.filter((one) => one.table === table.name).map((one) => h("tr",
          h("th", { scope: "row" }, h("a", { href: to(served.name, "data", [one.name]) }, one.name)),
          table.key.map((key) => h("td", h("code", String(one.keys[key] ?? "")))),
          h("td", lineLink(served, one.line))))))))));
}
