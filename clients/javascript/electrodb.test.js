// A task board with ElectroDB: three entities in one table, collections over two indexes.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Entity, Service } from "electrodb";
import { dynamodb, index, schema, table } from "./tables.js";

const options = { client: dynamodb, table: "js-electrodb" };
const model = (entity) => ({ entity, version: "1", service: "board" });

const Employee = new Entity(
  {
    model: model("employee"),
    attributes: {
      employeeId: { type: "string", required: true },
      office: { type: "string", required: true },
      name: { type: "string", required: true },
      skills: { type: "set", items: "string" },
    },
    indexes: {
      profile: {
        collection: "assignments",
        pk: { field: "pk", composite: ["employeeId"] },
        sk: { field: "sk", composite: [] },
      },
      colleagues: {
        collection: "workplace",
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["office"] },
        sk: { field: "gsi1sk", composite: ["name"] },
      },
    },
  },
  options,
);

const Task = new Entity(
  {
    model: model("task"),
    attributes: {
      employeeId: { type: "string", required: true },
      taskId: { type: "string", required: true },
      office: { type: "string", required: true },
      title: { type: "string", required: true },
      status: { type: ["open", "done"], default: "open" },
      points: { type: "number", default: 0 },
      history: { type: "list", items: { type: "string" }, default: [] },
      updatedAt: { type: "number", watch: "*", set: () => Date.now() },
    },
    indexes: {
      assigned: {
        collection: "assignments",
        pk: { field: "pk", composite: ["employeeId"] },
        sk: { field: "sk", composite: ["taskId"] },
      },
      board: {
        collection: "workplace",
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["office"] },
        sk: { field: "gsi1sk", composite: ["status", "taskId"] },
      },
    },
  },
  options,
);

const Board = new Service({ employee: Employee, task: Task }, options);

before(async () => {
  const definition = schema({ pk: "S", sk: "S" });
  const { AttributeDefinitions } = schema({ gsi1pk: "S", gsi1sk: "S" });
  definition.AttributeDefinitions.push(...AttributeDefinitions);
  await table(options.table, {
    ...definition,
    GlobalSecondaryIndexes: [index("gsi1", "gsi1pk", "gsi1sk")],
  });
  await Employee.put([
    { employeeId: "ann", office: "oslo", name: "Ann", skills: ["rust", "sql"] },
    { employeeId: "bob", office: "oslo", name: "Bob" },
  ]).go();
  const tasks = Array.from({ length: 12 }, (_, n) => ({
    employeeId: n % 2 ? "bob" : "ann",
    taskId: `t${String(n).padStart(2, "0")}`,
    office: "oslo",
    title: `task ${n}`,
    points: n,
  }));
  const { unprocessed } = await Task.put(tasks).go({ concurrency: 2 });
  assert.deepEqual(unprocessed, []);
});

test("an item, and several", async () => {
  const { data: ann } = await Employee.get({ employeeId: "ann" }).go();
  assert.deepEqual(ann.skills.sort(), ["rust", "sql"]);
  const { data: nobody } = await Employee.get({ employeeId: "nobody" }).go();
  assert.equal(nobody, null);
  const { data: two } = await Employee.get([{ employeeId: "ann" }, { employeeId: "bob" }]).go();
  assert.deepEqual(two.map((it) => it.name).sort(), ["Ann", "Bob"]);
});

test("what belongs to an employee, in one query", async () => {
  const { data } = await Board.collections.assignments({ employeeId: "ann" }).go();
  assert.equal(data.employee.length, 1);
  assert.equal(data.task.length, 6);
});

test("the board, in pages", async () => {
  const found = [];
  let cursor = null;
  do {
    const page = await Task.query.board({ office: "oslo", status: "open" }).go({ cursor, limit: 5 });
    found.push(...page.data.map((it) => it.taskId));
    cursor = page.cursor;
  } while (cursor);
  assert.deepEqual(found, [...found].sort());
  assert.ok(found.length >= 11);
});

test("a range and a filter", async () => {
  const { data } = await Task.query
    .assigned({ employeeId: "ann" })
    .between({ taskId: "t02" }, { taskId: "t08" })
    .where(({ points }, { gt }) => gt(points, 4))
    .go();
  assert.deepEqual(data.map((it) => it.taskId), ["t06", "t08"]);
});

test("an update that keeps the index right", async () => {
  const key = { employeeId: "bob", taskId: "t11" };
  const { data } = await Task.patch(key)
    .set({ status: "done" })
    .add({ points: 5 })
    .append({ history: ["closed"] })
    .composite({ office: "oslo" })
    .where(({ status }, { eq }) => eq(status, "open"))
    .go({ response: "all_new" });
  assert.deepEqual([data.status, data.points, data.history], ["done", 16, ["closed"]]);
  const { data: done } = await Task.query.board({ office: "oslo", status: "done" }).go();
  assert.deepEqual(done.map((it) => it.taskId), ["t11"]);
  await assert.rejects(
    Task.patch(key).set({ title: "x" }).where(({ status }, { eq }) => eq(status, "open")).go(),
    /conditional request failed/,
  );
});

test("a create happens once, a patch only where something is", async () => {
  await assert.rejects(
    Employee.create({ employeeId: "ann", office: "oslo", name: "Ann" }).go(),
    /conditional request failed/,
  );
  await assert.rejects(
    Employee.patch({ employeeId: "nobody" }).set({ name: "Nobody" }).go(),
    /conditional request failed/,
  );
});

test("a transaction over two entities", async () => {
  const hire = (employeeId) =>
    Board.transaction
      .write(({ employee, task }) => [
        employee.create({ employeeId, office: "rome", name: employeeId }).commit({ response: "all_old" }),
        task.put({ employeeId, taskId: "welcome", office: "rome", title: "read" }).commit(),
      ])
      .go();
  assert.equal((await hire("carl")).canceled, false);
  const again = await hire("carl");
  assert.equal(again.canceled, true);
  assert.deepEqual(again.data.map((it) => it.code), ["ConditionalCheckFailed", "None"]);
  const { data } = await Board.transaction
    .get(({ employee, task }) => [
      employee.get({ employeeId: "carl" }).commit(),
      task.get({ employeeId: "carl", taskId: "welcome" }).commit(),
    ])
    .go();
  assert.deepEqual(data.map(({ item }) => item.office), ["rome", "rome"]);
});

test("a scan of one entity, and deletes in a batch", async () => {
  const { data } = await Task.scan.where(({ office }, { eq }) => eq(office, "rome")).go({ pages: "all" });
  assert.deepEqual(data.map((it) => it.taskId), ["welcome"]);
  await Task.delete(data).go();
  const { data: left } = await Board.collections.workplace({ office: "rome" }).go();
  assert.deepEqual([left.employee.length, left.task.length], [1, 0]);
});
