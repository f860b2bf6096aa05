// Before something is written: what will happen, and who may.

import { actor, ask, held } from "./api.js";
import { copyButton, dialog, fill, h, later, trouble } from "./draw.js";
import { chooseActor } from "./frame.js";
import { to } from "./main.js";
import { recognise, short, shortened } from "./words.js";

/** Asks whether to go on. `refused` is told the faults of single fields, and the dialog ends. */
export async function confirm({ design, title, operation, on, given, changes, carryOut, then, refused }) {
  const who = await actor(design.name).catch(() => null);
  if (held.operator && !who) {
    await chooseActor(design.name, () => confirm({ design, title, operation, on, given, changes, carryOut, then, refused }));
    return;
  }
  const question = { operation, on, caller: who?.user, groups: who?.groups ?? [] };
  if (who?.role) question.role = who.role;
  if (given && Object.keys(given).length > 0) question.with = given;
  const said = h("div");
  const go = h("button.main", { type: "button", disabled: true, onclick: () => carry() }, verb(operation));
  const close = dialog(title, () => [
    changes?.length > 0 && h("table.changes", h("tbody", changes.map((one) => h("tr", h("th", { scope: "row" }, one.name), h("td", h("del", shown(one.from))), h("td", h("ins", shown(one.to))))))),
    later(planned(), 4),
    later(allowed(design, question, who), 2),
    said,
    h("div.buttons", h("button", { type: "button", onclick: () => close() }, "Cancel"), go),
  ]);

  async function planned() {
    try {
      const plan = await ask(design.name, "plan", question);
      go.disabled = false;
      return transaction(design, plan);
    } catch (error) {
      if (error.faults?.length > 0 && refused) {
        close();
        refused(error);
        return null;
      }
      // The write itself is not refused for what is not shown.
      go.disabled = !/secret attributes/.test(error.message);
      return trouble(error);
    }
  }

  async function carry() {
    go.disabled = true;
    try {
      const answer = await carryOut();
      close();
      then(answer);
    } catch (error) {
      go.disabled = false;
      if (error.faults?.length > 0 && refused) {
        close();
        refused(error);
      } else {
        fill(said, trouble(error));
      }
    }
  }
}

function verb(operation) {
  const known = { create: "Create", update: "Save", delete: "Delete", restore: "Restore" };
  return known[operation] ?? `Do ${operation}`;
}

function shown(value) {
  if (value === undefined || value === null) return "—";
  return shortened(typeof value === "object" ? JSON.stringify(value) : value, 60);
}

function transaction(design, plan) {
  const said = sentences(design, plan.request);
  const head = plan.text.split("\n")[0];
  return h("section", h("h3", "What will happen"),
    said.length === 0 ? h("p", "Nothing changes.") : h("ol.sentences", said.map((one) => h("li", one))),
    h("details", h("summary", head || "Nothing is written"), copyButton("Copy for the AWS CLI", JSON.stringify(plan.request, null, 2)), h("pre.code", { tabindex: "0" }, plan.text)));
}

async function allowed(design, question, who) {
  let decided;
  try {
    decided = await ask(design.name, "can", question);
  } catch (error) {
    return h("p.quiet", error.message);
  }
  const name = who?.user ?? "nobody";
  return h("section", h("h3", "Who may"),
    h("p", decided.allowed ? h("span.pill.good", "yes") : h("span.pill.bad", "no"), ` ${name}${who?.role ? `, ${who.role},` : ""} ${decided.allowed ? "may do this" : "may not do this"}.`),
    rulings(design, decided.rulings));
}

/** Rules with their verdicts, each with its line in the file. */
export function rulings(design, list) {
  return h("ul.plain", list.map((one) => h("li",
    h("span.pill", { class: { allowed: "good", denied: "bad" }[one.verdict] }, one.verdict), ` ${one.asked} ${one.record}: `,
    one.rule ? [h("code", one.rule.text), " ", lineLink(design, one.rule.line)] : h("span.quiet", "no rule speaks of it"))));
}

export function lineLink(design, line) {
  if (!line) return null;
  return h("a.line", { href: to(design.name, "design", ["file"], { line }) }, `${design.name}.toml:${line}`);
}

/** What a transaction does, action by action, in words. */
export function sentences(design, request) {
  const actions = Array.isArray(request) ? request.map((one) => ({ Update: one })) : request?.TransactItems ?? [];
  return actions.map((action) => sentence(design, action)).filter(Boolean);
}

function sentence(design, action) {
  const [kind, body] = Object.entries(action)[0];
  const table = body.TableName;
  if (table.endsWith("-partita")) return null;
  const plain = kind === "Put" ? body.Item : body.Key;
  const names = design.table(table)?.key ?? Object.keys(plain);
  const [partition, sort] = names.map((name) => text(plain[name]));
  const found = recognise(design, table, partition, sort);
  const what = thing(design, found, `${partition} ${sort}`);
  if (found?.guard) {
    return { Put: ["takes the value of ", what], Delete: ["gives back the value of ", what] }[kind] ?? ["checks ", what];
  }
  if (kind === "Put") return [/attribute_not_exists/.test(body.ConditionExpression ?? "") ? "creates " : "writes ", what];
  if (kind === "Delete") return ["removes ", what];
  if (kind === "ConditionCheck") return ["requires ", what, /attribute_not_exists/.test(body.ConditionExpression) ? " not to be there" : " to be as it was read"];
  return [updates(body), " on ", what];
}

function thing(design, found, key) {
  if (!found) return h("code", key);
  const isView = !design.entity(found.record);
  const label = [isView ? "the record " : "", found.record, " "];
  if (found.guard) return [found.record, " in ", h("code", key)];
  if (!found.identity) return [label, h("code", key)];
  return [label, h("a", { href: to(design.name, "item", [found.record, ...found.identity]), target: "_blank", title: key }, found.identity.map(short).join(" / "))];
}

function updates(body) {
  const names = body.ExpressionAttributeNames ?? {};
  const values = body.ExpressionAttributeValues ?? {};
  const named = (path) => path.replace(/#\w+/g, (name) => names[name] ?? name).trim();
  const valued = (name) => shownValue(values[name.trim()]);
  const parts = [];
  for (const clause of (body.UpdateExpression ?? "").split(/\b(?=SET |REMOVE |ADD |DELETE )/)) {
    const [, word, rest = ""] = /^(\w+) (.*)$/s.exec(clause.trim()) ?? [];
    for (const one of divided(rest)) {
      const [left, right = ""] = one.split(/ = (.*)/s);
      const sum = /([+-]) (:\w+)$/.exec(right);
      if (word === "REMOVE") parts.push(`removes ${named(left)}`);
      else if (word === "ADD") parts.push(`adds ${valued(left.split(" ")[1])} to ${named(left.split(" ")[0])}`);
      else if (sum) parts.push(change(sum[1], values[sum[2]], named(left)));
      else if (/^:\w+$/.test(right.trim())) parts.push(`sets ${named(left)} to ${valued(right)}`);
      else if (right) parts.push(`sets ${named(left)}`);
    }
  }
  return parts.length > 0 ? parts.join(", ") : "changes nothing";
}

function change(sign, value, name) {
  const by = Number(text(value)) * (sign === "-" ? -1 : 1);
  return by < 0 ? `takes ${-by} from ${name}` : `adds ${by} to ${name}`;
}

/** Divided at commas that are in no brackets. */
function divided(list) {
  const parts = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < list.length; at += 1) {
    if (list[at] === "(") depth += 1;
    else if (list[at] === ")") depth -= 1;
    else if (list[at] === "," && depth === 0) {
      parts.push(list.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(list.slice(from).trim());
  return parts.filter(Boolean);
}

/** A value of DynamoDB's JSON as a plain one. */
export function plainOf(value) {
  if (!value) return undefined;
  const [kind, held] = Object.entries(value)[0];
  if (kind === "N") return Number(held);
  if (kind === "M") return Object.fromEntries(Object.entries(held).map(([name, one]) => [name, plainOf(one)]));
  if (kind === "L") return held.map(plainOf);
  if (kind === "NULL") return null;
  return held;
}

function text(value) {
  return String(plainOf(value) ?? "");
}

function shownValue(value) {
  const plain = plainOf(value);
  return shortened(typeof plain === "string" ? `“${plain}”` : JSON.stringify(plain ?? null), 40);
}
