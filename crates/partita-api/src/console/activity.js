// What goes on: jobs, messages, drift, requests, and the designs that data followed.

import { ask, metrics } from "./api.js";
import { fill, h, later, svg, tell, trouble } from "./draw.js";
import { again, to } from "./main.js";
import { drift } from "./why.js";
import { heights, millis, operations, quantile, samples } from "./metrics.js";
import { number, plural, short, time } from "./words.js";

/** Columns of numbers. */
const NUMBERS = /^(Rows|Read units|Full at, in a second|Items|Bytes|Write units|Requests|Refused|Failed|p50|p99)$/;

export async function activity({ design, rest, query }) {
  const screens = { jobs, outbox, verify, requests, history };
  const titles = { jobs: "Jobs", outbox: "Outbox", verify: "Verify and repair", requests: "Requests", history: "History" };
  const page = rest[0] ?? "jobs";
  if (!screens[page]) throw new Error("There is no such page.");
  return { title: titles[page], crumbs: [{ text: "Activity", href: to(design.name, "activity", ["jobs"]) }], body: await screens[page](design, query) };
}

/** The first thing one sees: whether something is wrong, and where everything is. */
export async function overview({ design }) {
  const name = design.name;
  const card = (title, href, body) => h("a.card", { href }, h("h2", title), body);
  return {
    title: name,
    body: h("div",
      design.description.about && h("p.about", design.description.about),
      h("div.cards",
        card("Jobs", to(name, "activity", ["jobs"]), later(jobsState(design), 1)),
        card("Outbox", to(name, "activity", ["outbox"]), later(outboxState(design), 1)),
        card("Requests", to(name, "activity", ["requests"]), later(requestsState(design), 1)),
        card("Design", to(name, "design", ["file"]), h("p", `${plural(design.entities.length, "entity", "entities")}, ${plural(design.patterns.length, "pattern")}`))),
      h("h2", "Data"),
      h("div.cards.small", design.entities.map((one) => h("a.card", { href: to(name, "data", [one.name]) }, h("h3", one.name), one.about && h("p.quiet", one.about), h("code", String(one.keys[design.table(one.table).key[0]])))))),
  };
}

async function jobsState(design) {
  const open = await ask(design.name, "jobs");
  const stuck = open.filter((one) => one.lastError || one.refused > 0);
  if (stuck.length > 0) return h("p", h("span.pill.bad", "stuck"), ` ${plural(stuck.length, "job")}`);
  return h("p", h("span.pill.good", "well"), open.length === 0 ? " none open" : ` ${number(open.length)} open`);
}

async function outboxState(design) {
  const list = await ask(design.name, "outbox");
  const parked = list.filter((one) => one.state === "parked");
  if (parked.length > 0) return h("p", h("span.pill.bad", "parked"), ` ${plural(parked.length, "message")}`);
  return h("p", h("span.pill.good", "well"), list.length === 0 ? " nothing waits" : ` ${plural(list.length, "message")} on the way`);
}

async function requestsState(design) {
  const text = await metrics();
  if (text === null) return h("p.quiet", "counted elsewhere");
  const all = operations(samples(text), design.name);
  const failed = all.reduce((sum, one) => sum + one.failed, 0);
  const count = all.reduce((sum, one) => sum + one.count, 0);
  const buckets = all.flatMap((one) => one.buckets);
  return h("p", failed > 0 ? h("span.pill.bad", `${number(failed)} failed`) : h("span.pill.good", "well"), ` ${plural(count, "request")}, p99 ${millis(quantile(buckets, 0.99))}`);
}

async function jobs(design, query) {
  const all = query.get("all") === "1";
  const list = await ask(design.name, "jobs", { all });
  const { schedules } = design.description;
  const filter = h("nav.tabs", { "aria-label": "Which jobs" },
    h("a", { href: to(design.name, "activity", ["jobs"]), "aria-current": all ? null : "page" }, "Not done"),
    h("a", { href: to(design.name, "activity", ["jobs"], { all: 1 }), "aria-current": all ? "page" : null }, "Last seven days"));
  return h("div", h("p.about", "What follows writes that are larger than a transaction. Workers do it by themselves, and try again what fails."), filter,
    list.length === 0 ? h("div.empty", h("p", all ? "There was no job in the last seven days." : "Everything is done.")) : h("ul.list", list.map((one) => job(one))),
    schedules.length > 0 && h("section", h("h2", "Schedules"), h("ul.list", schedules.map((one) => h("li", h("strong", one.name), " ", h("span.quiet", one.about ?? ""), h("p", `${one.apply} for each ${one.of}, once in every period`))))));
}

function job(one) {
  const state = one.lastError || one.refused > 0 ? "bad" : one.state === "done" ? "good" : "warn";
  return h("li",
    h("div.line", h("span.pill", { class: state }, state === "bad" ? "stuck" : one.state), h("strong", ` ${one.of} `), h("span.quiet", time(Date.parse(one.created)), ` · ${short(one.id)}`)),
    h("ul.plain", one.tasks.map((task) => h("li", task))),
    h("p", one.expected ? [h("progress", { max: Math.max(one.expected, one.done), value: one.done, "aria-label": "Done" }), ` ${number(one.done)} of ${number(one.expected)}`] : `${plural(one.done, "item")} done`,
      one.refused > 0 && `, ${number(one.refused)} refused and tried again`, one.leftOut > 0 && `, ${number(one.leftOut)} without an effect that was refused`),
    one.lastError && h("p.trouble", one.lastError));
}

async function outbox(design) {
  const list = await ask(design.name, "outbox");
  const act = (request, text) => async (event) => {
    event.target.disabled = true;
    try {
      await ask(design.name, "outbox", request);
      tell(text);
      again();
    } catch (error) {
      event.target.closest("li").append(trouble(error));
    }
  };
  const message = (one) => h("li",
    h("div.line", h("span.pill", { class: one.state === "parked" ? "bad" : "warn" }, one.state), h("strong", ` ${one.what} `), h("span.quiet", `${one.channel} · ${one.cause} of ${one.of} · `, time(Date.parse(one.created)))),
    one.to && h("p", "to ", h("code", one.to)),
    h("p", plural(one.attempts, "attempt"), one.due && [", again ", time(Date.parse(one.due))]),
    one.lastError && h("p.trouble", one.lastError),
    h("div.buttons", h("button", { type: "button", onclick: act({ retry: one.id }, "It is tried again") }, "Retry"), h("button.danger", { type: "button", onclick: act({ drop: one.id }, "Dropped") }, "Drop")));
  return h("div", h("p.about", "Mails and events that are not delivered yet. What fails for good is parked until somebody retries or drops it."),
    list.length === 0 ? h("div.empty", h("p", "Nothing waits, and nothing is parked.")) : h("ul.list", list.map(message)));
}

async function verify(design) {
  const place = h("div");
  const select = h("select", { "aria-label": "Of" }, h("option", { value: "" }, "everything"), design.entities.map((one) => h("option", { value: one.name }, one.name)));
  const run = async (event) => {
    event.preventDefault();
    const bar = h("progress", { max: 1, "aria-label": "Progress" });
    fill(place, bar, h("p.quiet", "Reading the tables…"));
    try {
      fill(place, await drift(design, select.value ? [select.value] : [], null, bar));
    } catch (error) {
      fill(place, trouble(error));
    }
  };
  return h("div",
    h("p.about", "Recomputes everything that is derived from its sources, and says what differs. It changes nothing and leaves room for other requests; a repair shows first what it would write."),
    h("form.filters", { onsubmit: run }, h("label", "Verify ", select), h("button.main", "Verify")), place);
}

async function requests(design) {
  const text = await metrics();
  if (text === null) return h("div.empty", h("p", "This server shows what it has counted at another address (", h("code", "--metrics-listen"), ")."));
  const list = operations(samples(text), design.name);
  const plot = (one) => {
    const bars = heights(one.buckets);
    const width = 6;
    return svg("svg.plot", { width: bars.length * width, height: 24, role: "img", "aria-label": `p50 ${millis(quantile(one.buckets, 0.5))}, p99 ${millis(quantile(one.buckets, 0.99))}` },
      bars.map((bar, at) => svg("rect", { x: at * width, y: 24 - Math.max(bar.count > 0 ? 2 : 0, bar.height * 24), width: width - 1, height: Math.max(bar.count > 0 ? 2 : 0, bar.height * 24) }, svg("title", {}, `${bar.count} within ${millis(bar.most)}`))));
  };
  return h("div", h("p.about", "Since the server has started. Refused are requests that were wrong or not allowed; failed are those that the server could not carry out."),
    list.length === 0 ? h("div.empty", h("p", "No request yet.")) : h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Requests" }, h("table",
      h("thead", h("tr", ["Operation", "Requests", "Refused", "Failed", "p50", "p99", "Latencies"].map((one) => h(NUMBERS.test(one) ? "th.number" : "th", { scope: "col" }, one)))),
      h("tbody", list.map((one) => h("tr", h("th", { scope: "row" }, one.name), h("td.number", number(one.count)), h("td.number", number(one.refused)), h("td.number", one.failed > 0 ? h("span.pill.bad", number(one.failed)) : "0"),
        h("td.number", millis(quantile(one.buckets, 0.5))), h("td.number", millis(quantile(one.buckets, 0.99))), h("td", plot(one))))))));
}

async function history(design) {
  const list = (await ask(design.name, "history")).reverse();
  return h("div", h("p.about", "The designs that the stored data follow or followed, the live one first."),
    h("ul.list", list.map((one, at) => h("li",
      h("div.line", h("span.pill", { class: at === 0 ? "good" : null }, at === 0 ? "live" : `number ${one.number}`), " adopted ", time(Date.parse(one.adopted)), h("span.quiet", ` by Partita ${one.by}`)),
      h("details", h("summary", "The file"), h("pre.code", { tabindex: "0" }, one.text))))));
}
