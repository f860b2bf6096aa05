// The console: where one is, and the screen for it.

import { designs, designOf, held, isInside, openLink, keep } from "./api.js";
import { fill, h, trouble } from "./draw.js";
import { enter } from "./enter.js";
import { frame } from "./frame.js";
import { overview } from "./activity.js";

const SCREENS = {
  data: async () => (await import("./list.js")).list,
  new: async () => (await import("./editor.js")).creation,
  item: async () => (await import("./item.js")).item,
  partition: async () => (await import("./collection.js")).partition,
  pattern: async () => (await import("./pattern.js")).pattern,
  design: async () => (await import("./design.js")).design,
  activity: async () => (await import("./activity.js")).activity,
};

const app = document.getElementById("app");

/** The place in the address: `#/storyhub/item/Story/1?tab=json`. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter((part) => part !== "").map(decodeURIComponent);
  const [design, screen, ...rest] = parts;
  return { design, screen, rest, query: new URLSearchParams(query) };
}

/** The address of a place. */
export function to(design, screen, rest = [], query = {}) {
  const parts = [design, screen, ...rest].filter((part) => part !== undefined);
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ""));
  const path = parts.map(encodeURIComponent).join("/");
  return `#/${path}${asked.size ? `?${asked}` : ""}`;
}

/** Goes there. */
export function go(address) {
  location.hash = address.replace(/^#/, "");
}

/** Shows the same place again. */
export function again() {
  show();
}

async function begin() {
  const given = new URLSearchParams(location.hash.replace(/^#/, ""));
  const secret = given.get("link");
  if (secret) {
    // Before anything else, so that neither history nor a glance keeps it.
    const design = given.get("design");
    history.replaceState(null, "", `#/${design ?? ""}`);
    try {
      await openLink(secret);
    } catch (error) {
      fill(app, h("main.enter", h("h1", "Partita"), trouble(error), h("p", h("a", { href: "#/" }, "Get in another way"))));
      return;
    }
  }
  window.addEventListener("hashchange", show);
  show();
}

let shown = 0;

async function show() {
  const turn = ++shown;
  try {
    const served = await designs();
    const at = place();
    const name = served.some((one) => one.name === at.design) ? at.design : undefined;
    if (!name) {
      const first = served.find((one) => isInside(one.name)) ?? served[0];
      if (!first) return fill(app, h("main.enter", h("h1", "Partita"), h("p", "No design is served here.")));
      history.replaceState(null, "", to(first.name));
      return show();
    }
    if (!isInside(name)) return enter(app, served, name, show);
    let design;
    try {
      design = await designOf(name);
    } catch (error) {
      if (error.status !== 401 && error.status !== 403) throw error;
      if (error.status === 401) forget(name);
      return enter(app, served, name, show, error);
    }
    if (turn !== shown) return;
    const make = SCREENS[at.screen] ? SCREENS[at.screen]() : Promise.resolve(overview);
    const context = { design, served, rest: at.rest, query: at.query, screen: at.screen };
    const screen = make.then((made) => made(context));
    frame(app, context, screen);
  } catch (error) {
    fill(app, h("main.enter", h("h1", "Partita"), trouble(error)));
  }
}

/** What was no good any more. */
function forget(name) {
  delete held.tokens[name];
  delete held.cookies[name];
  held.operator = undefined;
  keep();
}

begin();
