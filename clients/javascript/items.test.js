// PutItem, GetItem, UpdateItem, DeleteItem.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  ResourceNotFoundException,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamodb, refusal, table } from "./tables.js";

const TableName = "js-items";
let Key;
let round = 0;

before(() => table(TableName));
beforeEach(() => {
  Key = { pk: { S: "ann" }, sk: { N: String(round++) } };
});

const put = (attributes, parameters = {}) =>
  dynamodb.send(new PutItemCommand({ TableName, Item: { ...Key, ...attributes }, ...parameters }));
const get = async (parameters = {}) =>
  (await dynamodb.send(new GetItemCommand({ TableName, Key, ...parameters }))).Item;
const update = (UpdateExpression, parameters = {}) =>
  dynamodb.send(new UpdateItemCommand({ TableName, Key, UpdateExpression, ...parameters }));
const remove = (parameters = {}) =>
  dynamodb.send(new DeleteItemCommand({ TableName, Key, ...parameters }));

test("every type comes back as it went", async () => {
  const everything = {
    text: { S: "żółw 🐢" },
    empty: { S: "" },
    number: { N: "-1234567890.0123456789" },
    binary: { B: Uint8Array.of(0, 255) },
    yes: { BOOL: true },
    nothing: { NULL: true },
    list: { L: [{ S: "a" }, { L: [{ N: "2" }] }] },
    map: { M: { deep: { M: { deeper: { BOOL: false } } } } },
    numbers: { NS: ["1"] },
    texts: { SS: ["a"] },
    binaries: { BS: [Uint8Array.of(1)] },
  };
  await put(everything);
  const item = await get({ ConsistentRead: true });
  assert.deepEqual(new Uint8Array(item.binary.B), everything.binary.B);
  assert.deepEqual(new Uint8Array(item.binaries.BS[0]), everything.binaries.BS[0]);
  for (const bytes of ["binary", "binaries"]) {
    delete item[bytes];
    delete everything[bytes];
  }
  assert.deepEqual(item, { ...Key, ...everything });
});

test("a missing item is no item", async () => {
  assert.equal(await get(), undefined);
});

test("a projection", async () => {
  await put({ a: { M: { b: { L: [{ N: "0" }, { N: "1" }] } } }, status: { S: "x" } });
  const item = await get({
    ProjectionExpression: "#s, a.b[1]",
    ExpressionAttributeNames: { "#s": "status" },
  });
  assert.deepEqual(item, { status: { S: "x" }, a: { M: { b: { L: [{ N: "1" }] } } } });
});

test("a condition that fails shows the item", async () => {
  await put({ v: { N: "1" } });
  const failed = await refusal(
    put({}, {
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    }),
    ConditionalCheckFailedException,
    "The conditional request failed",
  );
  assert.deepEqual(failed.Item, { ...Key, v: { N: "1" } });
  const silent = await refusal(
    remove({ ConditionExpression: "attribute_exists(w)" }),
    ConditionalCheckFailedException,
  );
  assert.equal(silent.Item, undefined);
});

test("an update counts, and shows what it changed", async () => {
  const ExpressionAttributeValues = { ":one": { N: "1" } };
  for (const expected of ["1", "2"]) {
    const { Attributes } = await update("ADD visits :one", {
      ExpressionAttributeValues,
      ReturnValues: "UPDATED_NEW",
    });
    assert.deepEqual(Attributes, { visits: { N: expected } });
  }
});

test("an update of every kind", async () => {
  await put({
    list: { L: [{ N: "0" }, { N: "1" }] },
    map: { M: { a: { N: "1" } } },
    tags: { SS: ["x", "y"] },
    gone: { BOOL: true },
  });
  const { Attributes } = await update(
    "SET #m.b = if_not_exists(#m.b, :two), #l[9] = :end REMOVE gone, #l[0] DELETE tags :x",
    {
      ExpressionAttributeNames: { "#m": "map", "#l": "list" },
      ExpressionAttributeValues: { ":two": { N: "2" }, ":end": { S: "end" }, ":x": { SS: ["x"] } },
      ReturnValues: "ALL_NEW",
    },
  );
  assert.deepEqual(Attributes, {
    ...Key,
    list: { L: [{ N: "1" }, { S: "end" }] },
    map: { M: { a: { N: "1" }, b: { N: "2" } } },
    tags: { SS: ["y"] },
  });
});

test("a delete returns what was there", async () => {
  await put({ v: { N: "1" } });
  const { Attributes } = await remove({ ReturnValues: "ALL_OLD" });
  assert.deepEqual(Attributes, { ...Key, v: { N: "1" } });
  assert.equal((await remove({ ReturnValues: "ALL_OLD" })).Attributes, undefined);
});

test("consumed capacity", async () => {
  await put({ text: { S: "x".repeat(5000) } });
  const got = await dynamodb.send(
    new GetItemCommand({ TableName, Key, ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" }),
  );
  assert.deepEqual(got.ConsumedCapacity, { TableName, CapacityUnits: 2 });
});

test("what is refused", async () => {
  const ExpressionAttributeValues = { ":s": { S: "1" } };
  await refusal(put({ n: { N: "1".repeat(39) } }), "ValidationException", "38 significant digits");
  await refusal(
    update("SET status = :s", { ExpressionAttributeValues }),
    "ValidationException",
    "reserved keyword: status",
  );
  await refusal(
    dynamodb.send(new GetItemCommand({ TableName, Key: { pk: { S: "a" } } })),
    "ValidationException",
    "does not match the schema",
  );
  await refusal(
    dynamodb.send(new GetItemCommand({ TableName: "missing", Key })),
    ResourceNotFoundException,
    "Requested resource not found",
  );
});
