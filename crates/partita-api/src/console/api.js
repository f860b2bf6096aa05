// Requests: who asks, what is asked, and what comes back.

import { identityOf } from "./words.js";

const KEPT = "partita.console";

/** Who is here, kept for this tab and no longer. */
export const held = load();

function load() {
  try {
    return { tokens: {}, acting: {}, cookies: {}, ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") };
  } catch {
    return { tokens: {}, acting: {}, cookies: {} };
  }
}

export function keep() {
  sessionStorage.setItem(KEPT, JSON.stringify(held));
}

/** A refusal of the server, as it says it. */
export class Refusal extends Error {
  constructor(status, problem, request) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
    this.title = problem.title;
    this.faults = problem.faults ?? [];
    this.request = request;
  }
}

/** A command that came to nothing. */
class Failure extends Error {
  isFailure = true;
}

async function send(method, path, { body, bearer, headers = {} } = {}) {
  const sent = { Accept: "application/json", ...headers };
  if (bearer) sent.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin", cache: "no-store",
    });
  } catch {
    throw new Failure("The server does not answer. Is it running?");
  }
  if (answer.ok) return answer;
  const request = answer.headers.get("x-request-id");
  let problem = {};
  try { problem = await answer.json(); } catch { /* It said nothing more. */ }
  throw new Refusal(answer.status, problem, request);
}

async function json(answer) {
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

/** The designs that are served. */
export async function designs() {
  return (await json(await send("GET", "/"))).designs;
}

/** Gets in by the secret of a link. */
export async function openLink(secret) {
  const answer = await json(await send("POST", "/console/session", { body: { secret } }));
  held.operator = answer.credential;
  keep();
}

/** Signs in with an account; the browser keeps the session as a cookie. */
export async function signIn(design, login, password) {
  await send("POST", `/${design}/auth/sign-in`, { body: { login, password, cookie: "strict" } });
  held.cookies[design] = true;
  keep();
}

/** Forgets who is here. */
export async function leave(design) {
  try {
    if (held.operator) await send("DELETE", "/console/session", { bearer: held.operator });
    else if (held.cookies[design]) await send("POST", `/${design}/auth/sign-out`);
  } catch { /* It has ended already. */ }
  sessionStorage.removeItem(KEPT);
  location.hash = "#/";
  location.reload();
}

export function isInside(design) {
  return Boolean(held.operator || held.tokens[design] || held.cookies[design]);
}

/** A command for administrators: its outcome, with events on the way. */
export async function ask(design, command, request = {}, onEvent = () => {}, signal = undefined) {
  const bearer = held.operator ?? held.tokens[design];
  const headers = { "Content-Type": "application/json" };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  let answer;
  try {
    answer = await fetch(`/${design}/admin/${command}`, {
      method: "POST", headers, body: JSON.stringify(request), credentials: "same-origin", signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server does not answer. Is it running?");
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Refusal(answer.status, problem, answer.headers.get("x-request-id"));
  }
  for await (const line of lines(answer.body)) {
    if ("event" in line) onEvent(line.event);
    else if ("outcome" in line) return line.outcome;
    else throw Object.assign(new Failure(line.failure.detail), { faults: line.failure.faults ?? [] });
  }
  throw new Failure("The server stopped before it was done.");
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    const whole = rest.split("\n");
    rest = whole.pop();
    for (const line of whole) if (line.trim()) yield JSON.parse(line);
  }
  if (rest.trim()) yield JSON.parse(rest);
}

/** Whom the rules see: the user of the token or session, or whom the operator acts as. */
export async function actor(design) {
  if (held.operator) return held.acting[design] ?? null;
  if (held.tokens[design]) {
    const claims = claimsOf(held.tokens[design]);
    return { user: claims.sub, role: claims.role, groups: claims.groups ?? [] };
  }
  const [me, served] = await Promise.all([send("GET", `/${design}/auth/me`).then(json), designOf(design)]);
  const entity = served.record(served.description.callers.entity);
  return { user: me.user?.[entity && identityOf(entity)[0]] ?? me.user?.id, groups: [] };
}

function claimsOf(token) {
  try {
    const part = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (one) => one.charCodeAt(0))));
  } catch {
    return {};
  }
}

/** Has the operator act as somebody. */
export function actAs(design, who) {
  held.acting[design] = who ? { ...who } : null;
  keep();
}

const LIFETIME_SECONDS = 3600;

async function bearerOf(design) {
  if (!held.operator) return held.tokens[design];
  const who = held.acting[design];
  if (!who) return undefined;
  if (!who.token || who.until < Date.now()) {
    const request = { user: who.user, groups: who.groups ?? [], lifetimeSeconds: LIFETIME_SECONDS };
    if (who.role) request.role = who.role;
    who.token = await ask(design, "token", request);
    who.until = Date.now() + (LIFETIME_SECONDS - 60) * 1000;
    keep();
  }
  return who.token;
}

/** A request to the design's own API, as whoever acts. */
export async function call(design, method, path, { body, headers } = {}) {
  const bearer = await bearerOf(design);
  const answer = await send(method, `/${design}/${path}`, { body, headers, bearer });
  return { body: await json(answer), etag: answer.headers.get("etag"), job: answer.headers.get("partita-job"), location: answer.headers.get("location") };
}

/** The path of an item in the API. */
export function pathOf(record, identity) {
  return [record, ...identity].map(encodeURIComponent).join("/");
}

/** What the server has counted; null where it does not say so here. */
export async function metrics() {
  const answer = await fetch("/metrics", { cache: "no-store" });
  return answer.ok ? answer.text() : null;
}

/** The design as it is served, read once. */
const known = new Map();

export function designOf(name) {
  if (!known.has(name)) {
    const read = ask(name, "describe").then((described) => new Design(name, described));
    known.set(name, read);
    read.catch(() => known.delete(name));
  }
  return known.get(name);
}

/** A design, with its parts by name. */
export class Design {
  constructor(name, described) {
    const { description } = described;
    Object.assign(this, described);
    this.name = name;
    this.entities = description.entities;
    this.views = description.views;
    this.records = [...this.entities, ...this.views];
    this.patterns = description.patterns;
    this.actions = description.actions;
  }

  entity(name) { return this.entities.find((one) => one.name === name); }
  record(name) { return this.records.find((one) => one.name === name); }
  pattern(name) { return this.patterns.find((one) => one.name === name); }
  table(name) { return this.description.tables.find((one) => one.name === name); }
  schema(record, attribute) { return this.schemas.records[record]?.[attribute] ?? {}; }

  /** The patterns that answer items of a record. */
  listing(record) {
    return this.patterns.filter((one) => one.returns.includes(record) || one.follow === record);
  }
}
