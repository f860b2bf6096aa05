// Why a value is what it is, who may change it, and whether it is right.

import { ask } from "./api.js";
import { fill, h, later, tell, trouble } from "./draw.js";
import { again } from "./main.js";
import { lineLink } from "./confirm.js";
import { link, marks } from "./list.js";
import { named, resolve } from "./item.js";
import { get, number, plural, value } from "./words.js";

/** Explains a derived value beside its item. */
export function why(context, attribute) {
  const { design, record, found, explained } = context;
  const now = get(found.attributes, attribute.name);
  const place = h("section", { tabindex: "-1", "aria-label": `Why ${attribute.name}` },
    h("h2", "Why"),
    h("p.what", h("code", attribute.name), " is ", value(design.schema(record.name, attribute.name), now)),
    sentence(attribute),
    h("p.quiet", h("code", attribute.value ?? ""), " ", lineLink(design, attribute.line)),
    later(sources(context, attribute, now), 3),
    check(context, attribute));
  fill(explained, place);
  place.focus();
}

function sentence(attribute) {
  const { source } = attribute;
  if (source.kind === "number") {
    const what = source.sum ? ["The sum of ", h("code", source.sum), " over every "] : ["The number of "];
    return h("p", what, h("strong", source.of), " whose ", h("code", source.by), " is this item", source.where && [", as far as ", h("code", source.where)], ". It changes in the same transaction as they do.");
  }
  if (source.kind === "copy") return h("p", "A copy of ", h("code", source.path), ", which follows the original.");
  const when = { create: "when the item was created", write: "with every write of a caller", once: "once, the first time that its condition held", always: "whenever what it reads changes" };
  const cases = source.cases ?? [];
  return h("div", h("p", `Computed ${when[source.timing] ?? when.always}:`),
    h("ul.plain", cases.map((one) => h("li", h("code", one.is), one.when && [" when ", h("code", one.when)]))));
}

async function sources(context, attribute, now) {
  const { design, record, found } = context;
  const { source } = attribute;
  if (source.kind === "number") return counted(context, attribute, now);
  const text = source.kind === "copy" ? source.path : (source.cases ?? []).map((one) => `${one.is} ${one.when ?? ""}`).join(" ");
  const words = new Set(text.match(/[A-Za-z_][\w]*/g) ?? []);
  const refs = record.refs.filter((one) => words.has(one.name)).map((one) => resolve(context, one)).filter(Boolean);
  const own = record.attributes.filter((one) => one.name !== attribute.name && words.has(one.name.split(".")[0]) && text.includes(one.name));
  if (refs.length === 0 && own.length === 0) return null;
  return h("div", h("h3", "From"),
    h("ul.plain",
      refs.map((one) => h("li", h("span.quiet", `${one.name}: `), named(design, one.to, one.identity))),
      own.map((one) => h("li", h("code", one.name), " = ", value(design.schema(record.name, one.name), get(found.attributes, one.name))))));
}

/** The items that a number is made of, and whether they come to it. */
async function counted({ design, record, identity }, attribute, now) {
  const { source } = attribute;
  const answer = await ask(design.name, "items", { record: record.name, identity, number: attribute.name, limit: 100 });
  const added = answer.items.filter((one) => one.adds !== null && !one.expired);
  const sum = added.reduce((total, one) => total + Number(one.adds), 0);
  const isAll = !answer.hasMore && !answer.cursor;
  return h("div",
    h("h3", plural(added.length, source.of, source.of), !isAll && " and more"),
    isAll && Number(now ?? 0) !== sum && h("p.trouble", { role: "alert" }, `These come to ${number(sum)}, and ${number(now ?? 0)} is stored. Check it below.`),
    h("ul.sources", answer.items.map((one) => h("li", { class: one.adds === null ? "gone" : null }, link(design, one), marks(one), h("span.number", one.adds === null ? "not counted" : source.sum ? number(one.adds) : "")))),
    isAll && source.sum && h("p.total", "together ", h("strong.number", number(sum))),
    h("p.quiet", `${number(answer.readUnits)} read units`));
}

/** Recomputes what is derived in the entity, and shows what concerns this item. */
function check({ design, record, found }, attribute) {
  const place = h("div.check");
  const run = async () => {
    const bar = h("progress", { max: 1, "aria-label": "Checking" });
    fill(place, bar);
    try {
      fill(place, await drift(design, [record.name], found, bar));
    } catch (error) {
      fill(place, trouble(error));
    }
  };
  place.append(h("button", { type: "button", onclick: run }, "Is it right?"), h("p.quiet", `Recomputes everything derived of ${record.name} from its sources. It changes nothing.`));
  return place;
}

/** What drifted of these entities, of one item or of all, with the repair. */
export async function drift(design, entities, only = null, bar = null) {
  const found = [];
  const report = await ask(design.name, "verify", { entities }, (event) => {
    if (event.pass) found.length = 0;
    if (event.drift) found.push(event.drift);
    if (event.progress && bar) {
      bar.max = Math.max(1, event.progress.total);
      bar.value = event.progress.items;
    }
  });
  const names = Object.values(only?.keys ?? {});
  const isHere = (one) => !only || Object.values(one.drift.key).every((part) => names.includes(part));
  const here = found.filter(isHere);
  if (here.length === 0) {
    return h("p", h("span.pill.good", "right"), only ? " Nothing of this item has drifted." : ` Nothing has drifted among ${plural(report.items, "item")}.`, only && found.length > 0 && ` ${plural(found.length, "value")} of other items have.`);
  }
  return h("div.drift", { role: "alert" },
    h("p", h("span.pill.bad", "drift"), ` ${plural(here.length, "value is", "values are")} not what ${here.length === 1 ? "its" : "their"} sources say.`),
    h("ul.plain", here.map((one) => h("li", h("code", one.drift.attribute ?? one.drift.kind), " ", one.text))),
    repairButton(design, entities));
}

/** Shows what a repair would write, and writes that and no more when it is told to. */
export function repairButton(design, entities) {
  const place = h("div");
  const run = (request, then) => async () => {
    const bar = h("progress", { "aria-label": "Repairing" });
    fill(place, bar);
    const found = [];
    try {
      const outcome = await ask(design.name, "repair", { entities, ...request }, (event) => {
        if (event.drift) found.push(event.drift);
        if (event.progress) { bar.max = Math.max(1, event.progress.total); bar.value = event.progress.items; }
      });
      then(outcome, found);
    } catch (error) {
      fill(place, trouble(error));
    }
  };
  const look = run({}, ({ would }, found) => {
    if (!would) return fill(place, h("p", "There is nothing that a repair could mend."));
    const wanted = found.filter((one) => one.outcome === "would");
    fill(place, h("p", `It would write ${plural(wanted.length, "value")}:`), h("ul.plain", wanted.slice(0, 50).map((one) => h("li", one.text))),
      h("button.main", { type: "button", onclick: run({ agreed: { shown: would } }, done) }, "Write them"));
    place.querySelector("button").focus();
  });
  const done = (outcome, found) => {
    const mended = found.filter((one) => one.outcome === "mended").length;
    tell(`${plural(mended, "value")} mended`);
    again();
  };
  place.append(h("button.main", { type: "button", onclick: look }, "Repair…"), h("p.quiet", "Shows first what it would write. What callers gave stays as it is."));
  return place;
}

/** Who may do what to the item: the rules of its entity, with their lines. */
export function whoMay(explained, { design, record }) {
  const order = ["read", "create", "update", "delete"];
  const rank = ([name]) => (order.includes(name) ? order.indexOf(name) : order.length);
  const rules = Object.entries(record.rules ?? {}).sort((one, other) => rank(one) - rank(other));
  fill(explained,
    h("section", h("h2", "Why"), h("p.quiet", "Values with ƒ are derived. Choose one to see what it comes from.")),
    rules.length > 0 && h("section", h("h2", "Who may"),
      h("dl.rules", rules.map(([name, text]) => h("div", h("dt", name), h("dd", h("code", text), " ", lineLink(design, record.ruleLines?.[name])))))));
}
