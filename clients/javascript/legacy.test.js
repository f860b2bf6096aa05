// The parameters that expressions have replaced.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamodb, refusal, table } from "./tables.js";

const TableName = "js-legacy";
const key = (sk) => ({ pk: { S: "ann" }, sk: { N: String(sk) } });
const eq = (...AttributeValueList) => ({ ComparisonOperator: "EQ", AttributeValueList });

before(async () => {
  await table(TableName);
  for (const sk of [1, 2, 3]) {
    const Item = { ...key(sk), kind: { S: sk === 2 ? "even" : "odd" } };
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
  }
});

test("AttributeUpdates and Expected", async () => {
  const change = (counter) =>
    dynamodb.send(
      new UpdateItemCommand({
        TableName,
        Key: key(9),
        AttributeUpdates: {
          counter: { Action: "PUT", Value: { N: String(counter + 1) } },
          seen: { Action: "ADD", Value: { NS: [String(counter)] } },
        },
        Expected: {
          counter: counter === 0 ? { Exists: false } : { Value: { N: String(counter) } },
        },
        ReturnValues: "ALL_NEW",
      }),
    );
  await change(0);
  await refusal(change(0), ConditionalCheckFailedException);
  const { Attributes } = await change(1);
  assert.deepEqual(Attributes.counter, { N: "2" });
  assert.deepEqual(Attributes.seen.NS.sort(), ["0", "1"]);
  await dynamodb.send(
    new DeleteItemCommand({ TableName, Key: key(9), Expected: { counter: eq({ N: "2" }) } }),
  );
});

test("KeyConditions, QueryFilter and ScanFilter", async () => {
  const KeyConditions = { pk: eq({ S: "ann" }) };
  const found = await dynamodb.send(
    new QueryCommand({
      TableName,
      KeyConditions,
      QueryFilter: { kind: eq({ S: "odd" }) },
      AttributesToGet: ["sk"],
      ScanIndexForward: false,
    }),
  );
  assert.deepEqual(found.Items, [{ sk: { N: "3" } }, { sk: { N: "1" } }]);
  const beside = await dynamodb.send(
    new QueryCommand({
      TableName,
      KeyConditions,
      FilterExpression: "kind = :kind",
      ExpressionAttributeValues: { ":kind": { S: "even" } },
    }),
  );
  assert.equal(beside.Count, 1);
  const scanned = await dynamodb.send(
    new ScanCommand({
      TableName,
      ScanFilter: { kind: eq({ S: "even" }), sk: eq({ N: "1" }) },
      ConditionalOperator: "OR",
    }),
  );
  assert.equal(scanned.Count, 2);
});

test("AttributesToGet", async () => {
  const { Item } = await dynamodb.send(
    new GetItemCommand({ TableName, Key: key(1), AttributesToGet: ["kind", "none"] }),
  );
  assert.deepEqual(Item, { kind: { S: "odd" } });
  const RequestItems = { [TableName]: { Keys: [key(2)], AttributesToGet: ["sk"] } };
  const got = await dynamodb.send(new BatchGetItemCommand({ RequestItems }));
  assert.deepEqual(got.Responses[TableName], [{ sk: { N: "2" } }]);
});
