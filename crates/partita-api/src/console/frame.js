// What is around every screen: where one is, where one can go, and who one is.

import { actAs, actor, ask, designOf, held, leave } from "./api.js";
import { dialog, fill, h, later } from "./draw.js";
import { again, go, to } from "./main.js";
import { openPalette, remember } from "./palette.js";
import { nameOf } from "./words.js";

export function frame(app, context, screen) {
  const { design } = context;
  const place = h("div.screen");
  remember(context);
  const head = h("header.top",
    h("button.menu", { type: "button", "aria-expanded": "false", "aria-controls": "side", onclick: toggleMenu }, "Menu"),
    h("div.where"),
    h("button.find", { type: "button", onclick: () => openPalette(context) }, h("span", "Find…"), h("kbd", mark())),
    who(design.name),
  );
  fill(app,
    h("a.skip", { href: "#main", onclick: skip }, "Skip to content"),
    side(context), h("div.body", head, h("main", { id: "main", tabindex: "-1" }, place)));
  const drawn = screen.then(({ title, crumbs = [], body }) => {
    document.title = `${title} · ${design.name} · Partita`;
    fill(head.querySelector(".where"), h("nav", { "aria-label": "Place" }, crumbs.map((crumb) => [h("a", { href: crumb.href }, crumb.text), h("span", { "aria-hidden": "true" }, "›")])), h("h1", title));
    return body;
  });
  place.append(later(drawn, 6));
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function toggleMenu(event) {
  const open = document.getElementById("app").classList.toggle("open");
  event.currentTarget.setAttribute("aria-expanded", String(open));
}

export function mark() {
  return /Mac/.test(navigator.platform) ? "⌘K" : "Ctrl K";
}

function side(context) {
  const { design, served, screen, rest } = context;
  document.getElementById("app").classList.remove("open");
  const name = design.name;
  const link = (text, href, isHere, count) => h("li", h("a", { href, "aria-current": isHere ? "page" : null }, h("span", text), count !== undefined && h("small", count)));
  const isAt = (place, first) => screen === place && rest[0] === first;
  const choose = (event) => go(to(event.target.value));
  const records = (list, word) => list.map((one) => link(one.name, to(name, "data", [one.name]), (screen === "data" || screen === "item" || screen === "new") && rest[0] === one.name, word));
  return h("aside.side", { id: "side" },
    h("div.brand",
      h("img", { src: "/console/icon.svg", alt: "", width: 24, height: 24 }),
      served.length > 1
        ? h("select", { "aria-label": "Design", onchange: choose }, served.map((one) => h("option", { value: one.name, selected: one.name === name }, one.name)))
        : h("strong", name)),
    h("nav", { "aria-label": "Console" },
      h("ul", link("Overview", to(name), screen === undefined)),
      group("Data", records(design.entities)),
      design.views.length > 0 && h("details", { open: design.views.some((one) => rest[0] === one.name) }, h("summary", "Views"), h("ul", records(design.views))),
      group("Patterns", design.patterns.map((one) => link(one.name, to(name, "pattern", [one.name]), isAt("pattern", one.name)))),
      group("Design", [
        link("File", to(name, "design", ["file"]), isAt("design", "file")),
        link("Access patterns", to(name, "design", ["patterns"]), isAt("design", "patterns")),
        link("Who may do what", to(name, "design", ["access"]), isAt("design", "access")),
        link("Diagram", to(name, "design", ["diagram"]), isAt("design", "diagram")),
      ]),
      group("Activity", [
        link("Jobs", to(name, "activity", ["jobs"]), isAt("activity", "jobs")),
        link("Outbox", to(name, "activity", ["outbox"]), isAt("activity", "outbox")),
        link("Verify and repair", to(name, "activity", ["verify"]), isAt("activity", "verify")),
        link("Requests", to(name, "activity", ["requests"]), isAt("activity", "requests")),
        link("History", to(name, "activity", ["history"]), isAt("activity", "history")),
      ]),
    ));
}

function group(title, links) {
  return h("section", h("h2", title), h("ul", links));
}

/** Who one is, and a way out. */
function who(design) {
  const name = h("span", "…");
  actor(design).then((found) => {
    if (held.operator) fill(name, found ? `operator as ${found.user}` : "operator");
    else fill(name, found?.user ?? "");
  }, () => fill(name, ""));
  return h("details.who",
    h("summary", name),
    h("div.list", { role: "group", "aria-label": "Session" },
      held.operator && h("button", { type: "button", onclick: () => chooseActor(design) }, "Act as…"),
      h("button", { type: "button", onclick: () => leave(design) }, "Leave the console")));
}

/** A few users to choose from. */
async function someUsers(served, entity) {
  try {
    const { items } = await ask(served.name, "items", { record: entity, limit: 20 });
    const users = items.filter((one) => one.identity?.length === 1 && !one.deleted);
    return users.map((one) => ({ id: one.identity[0], name: nameOf(served, entity, one.attributes) ?? "" }));
  } catch {
    return [];
  }
}

/** The operator is nobody to the rules of a design, and writes as somebody. */
export async function chooseActor(design, done = again) {
  const served = await designOf(design);
  const { callers, accounts } = served.description;
  const known = callers.entity ? await someUsers(served, callers.entity) : [];
  const now = held.acting[design] ?? {};
  const fromToken = (source) => source === "token";
  const close = dialog("Act as", () => h(
    "form", {
      onsubmit: (event) => {
        event.preventDefault();
        const form = new FormData(event.target);
        const text = (field) => (form.get(field) ?? "").trim();
        const groups = text("groups").split(",").map((one) => one.trim()).filter(Boolean);
        actAs(design, text("user") ? { user: text("user"), role: text("role") || undefined, groups } : null);
        close();
        done();
      },
    },
    h("p", "You run this server. The rules of the design are asked of users, so say as whom you write and ask patterns. Nothing is shown differently: you see every item anyway."),
    h("label.field", h("span", callers.entity ? `Id of ${callers.entity}` : "Id of the user"), h("input", { name: "user", list: "users", value: now.user ?? (accounts ? known[0]?.id : null) ?? "operator", autocomplete: "off" })),
    h("datalist", { id: "users" }, known.map((one) => h("option", { value: one.id }, one.name))),
    accounts && h("p.quiet", "Of a user who exists and is active: this design has accounts."),
    fromToken(callers.roleFrom) && h("label.field", h("span", "Role"), h("input", { name: "role", value: now.role ?? callers.administratorMark ?? "", autocomplete: "off" })),
    fromToken(callers.groupsFrom) && h("label.field", h("span", "Groups, divided by commas"), h("input", { name: "groups", value: (now.groups ?? []).join(", "), autocomplete: "off" })),
    h("div.buttons", h("button", { type: "button", onclick: () => close() }, "Cancel"), h("button.main", "Act as this user")),
  ));
}
