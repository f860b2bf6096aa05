// What the tests share: a client as anybody would make it, and tables of their own.
//
// Where the endpoint is and which credentials it takes stands in the environment, where every AWS
// SDK looks for it; so the programs here are those that would run against Amazon DynamoDB.

import assert from "node:assert/strict";
import { after } from "node:test";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";

/** A test wants to see the first answer, not the third. */
export const dynamodb = new DynamoDBClient({ maxAttempts: 1 });

const created = [];
after(async () => {
  for (const TableName of created) await dynamodb.send(new DeleteTableCommand({ TableName }));
  dynamodb.destroy();
});

/** A table's key, as `schema({ pk: "S", sk: "N" })`: the partition key first. */
export function schema(keys) {
  const names = Object.keys(keys);
  return {
    KeySchema: key(...names),
    AttributeDefinitions: names.map((name) => ({ AttributeName: name, AttributeType: keys[name] })),
    BillingMode: "PAY_PER_REQUEST",
  };
}

/** The key of a table or an index. */
export function key(partition, sort) {
  const elements = [{ AttributeName: partition, KeyType: "HASH" }];
  if (sort !== undefined) elements.push({ AttributeName: sort, KeyType: "RANGE" });
  return elements;
}

/** An index over whole items. */
export function index(name, partition, sort) {
  return {
    IndexName: name,
    KeySchema: key(partition, sort),
    Projection: { ProjectionType: "ALL" },
  };
}

/** Creates a table, waits until it is there, and deletes it when the file's tests have ended. */
export async function table(name, definition = schema({ pk: "S", sk: "N" })) {
  await dynamodb.send(new CreateTableCommand({ TableName: name, ...definition }));
  created.push(name);
  await waitUntilTableExists({ client: dynamodb, maxWaitTime: 30, minDelay: 1 }, { TableName: name });
  return name;
}

/** What a promise was refused with; it must be this kind of error, and say this. */
export async function refusal(promise, kind, message = "") {
  let found;
  await assert.rejects(promise, (error) => {
    found = error;
    assert.equal(error.name, typeof kind === "string" ? kind : kind.name);
    if (typeof kind !== "string") assert.ok(error instanceof kind);
    assert.ok(error.message.includes(message), error.message);
    return true;
  });
  return found;
}

/** All that an asynchronous iterator gives. */
export async function all(pages) {
  const found = [];
  for await (const page of pages) found.push(page);
  return found;
}
