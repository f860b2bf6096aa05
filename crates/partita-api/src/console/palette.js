// ⌘K: everything by its name.

import { ask, call, held } from "./api.js";
import { dialog, fill, h } from "./draw.js";
import { go, to } from "./main.js";
import { get, identityOf, nameOf, short } from "./words.js";

let latest = null;

/** Listens once for the keys that open it. */
document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k" && latest) {
    event.preventDefault();
    openPalette(latest);
  }
});

export function remember(context) {
  latest = context;
}

export function openPalette(context) {
  if (document.querySelector("dialog[aria-label='Find']")) return;
  const { design } = context;
  const places = placesOf(design);
  const list = h("ul.found", { role: "listbox", id: "found", "aria-label": "Found" });
  let options = [];
  let at = 0;
  let turn = 0;
  const close = dialog("Find", () => [
    h("input.query", {
      type: "search", role: "combobox", "aria-label": "Find items, entities, patterns and pages", "aria-controls": "found", "aria-expanded": "true", autocomplete: "off",
      placeholder: "An id, an e-mail, an entity, a pattern…", oninput: (event) => look(event.target.value), onkeydown: keys,
    }),
    list,
    h("p.quiet", "↑ ↓ and Enter. Items are found by the whole of their id, or by a value that is theirs alone."),
  ]);

  function keys(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      at = Math.max(0, Math.min(options.length - 1, at + step));
      draw(event.target);
    } else if (event.key === "Enter" && options[at]) {
      event.preventDefault();
      choose(options[at]);
    }
  }

  function choose(option) {
    close();
    go(option.href);
  }

  function draw(input = document.querySelector("dialog .query")) {
    fill(list, options.map((option, index) => h(
      "li", { role: "option", id: `found-${index}`, "aria-selected": String(index === at), onclick: () => choose(option) },
      h("span", option.text), h("small", option.kind))));
    if (options.length === 0) fill(list, h("li.none", { role: "option", "aria-selected": "false", "aria-disabled": "true" }, "Nothing of that name"));
    input?.setAttribute("aria-activedescendant", `found-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  async function look(text) {
    const mine = ++turn;
    const wanted = text.trim().toLowerCase();
    options = places.filter((one) => one.text.toLowerCase().includes(wanted)).slice(0, 12);
    at = 0;
    draw();
    if (wanted.length < 2) return;
    await new Promise((resolve) => { setTimeout(resolve, 250); });
    if (mine !== turn) return;
    const found = await findItems(design, text.trim());
    if (mine !== turn || found.length === 0) return;
    options = [...found, ...options].slice(0, 16);
    at = 0;
    draw();
  }
  look("");
}

function placesOf(design) {
  const name = design.name;
  return [
    { text: "Overview", kind: "page", href: to(name) },
    ...design.entities.map((one) => ({ text: one.name, kind: "entity", href: to(name, "data", [one.name]) })),
    ...design.entities.map((one) => ({ text: `New ${one.name}`, kind: "create", href: to(name, "new", [one.name]) })),
    ...design.patterns.map((one) => ({ text: one.name, kind: "pattern", href: to(name, "pattern", [one.name]) })),
    ...design.views.map((one) => ({ text: one.name, kind: "view", href: to(name, "data", [one.name]) })),
    ...["file", "patterns", "access", "diagram"].map((one) => ({ text: `Design: ${one}`, kind: "page", href: to(name, "design", [one]) })),
    ...["jobs", "outbox", "verify", "requests", "history"].map((one) => ({ text: `Activity: ${one}`, kind: "page", href: to(name, "activity", [one]) })),
  ];
}

/** Items whose whole identity this is, and those that have it as a value that is theirs alone. */
async function findItems(design, text) {
  const parts = text.split(/[/\s]+/).filter(Boolean);
  const byIdentity = design.entities
    .filter((one) => one.identity.length === parts.length)
    .map((one) => ask(design.name, "items", { record: one.name, identity: parts }));
  const byValue = design.entities.flatMap((one) => uniqueTexts(one).map((attribute) => byUnique(design, one, attribute, text)));
  const pages = await Promise.allSettled([...byIdentity, ...byValue]);
  const items = pages.flatMap((page) => (page.status === "fulfilled" ? page.value.items : []));
  const seen = new Set();
  return items.filter((one) => one.identity).map((one) => ({
    text: `${nameOf(design, one.record, one.attributes) ?? one.identity.map(short).join(" / ")}`,
    kind: `${one.record} ${one.identity.map(short).join(" / ")}`,
    href: to(design.name, "item", [one.record, ...one.identity]),
  })).filter((one) => !seen.has(one.href) && seen.add(one.href));
}

/** The item with a value that is its own: by the pattern that finds it, where whoever is here may ask
 *  that; otherwise by going through the first thousand items of the table. */
async function byUnique(design, entity, attribute, text) {
  if (/mail/i.test(attribute) && !text.includes("@")) return { items: [] };
  const isFor = (one) => one.returns.includes(entity.name) && (one.one || one.read === "get") && one.parameters.length === 1 && one.parameters[0].name === attribute;
  const pattern = design.patterns.find(isFor);
  // The operator is somebody to the rules only as another.
  if (pattern && (!held.operator || held.acting[design.name])) {
    const asked = `query/${encodeURIComponent(pattern.name)}?${new URLSearchParams({ [attribute]: text })}`;
    const found = await call(design.name, "GET", asked).catch(() => null);
    const identity = found && identityOf(entity).map((name) => get(found.body, name));
    if (identity?.every((one) => one !== undefined)) return { items: [{ record: entity.name, attributes: found.body, identity: identity.map(String) }] };
  }
  return ask(design.name, "items", { record: entity.name, having: { [attribute]: text }, limit: 2 });
}

/** Attributes whose value is one item's alone: by a guard, or by what people sign in with. */
export function uniqueTexts(entity) {
  const guarded = entity.unique.flatMap((one) => [...one.key.matchAll(/\{(?:\w+\()?(\w+)\)?\}/g)].map((found) => found[1]));
  const usual = entity.attributes.map((one) => one.name).filter((name) => /^(e-?mail|username)$/i.test(name));
  const names = new Set([...guarded, ...usual]);
  return entity.attributes.filter((one) => names.has(one.name) && !one.secret).map((one) => one.name);
}
