// BatchGetItem and BatchWriteItem.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ResourceNotFoundException,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamodb, refusal, table } from "./tables.js";

const one = "js-batches-one";
const two = "js-batches-two";
before(() => Promise.all([table(one), table(two)]));

const key = (pk, sk) => ({ pk: { S: pk }, sk: { N: String(sk) } });
const keys = (pk, count) => Array.from({ length: count }, (_, sk) => key(pk, sk));
const put = (Item) => ({ PutRequest: { Item } });
const remove = (Key) => ({ DeleteRequest: { Key } });
const write = (RequestItems) => dynamodb.send(new BatchWriteItemCommand({ RequestItems }));
const get = (RequestItems) => dynamodb.send(new BatchGetItemCommand({ RequestItems }));

test("two tables at once", async () => {
  const puts = keys("a", 20).map((key) => put({ ...key, v: { N: "7" } }));
  const { UnprocessedItems } = await write({ [one]: puts, [two]: puts.slice(0, 5) });
  assert.deepEqual(UnprocessedItems, {});
  const { Responses, UnprocessedKeys } = await get({
    [one]: { Keys: keys("a", 30), ProjectionExpression: "v" },
    [two]: { Keys: [key("a", 4), key("a", 5)], ConsistentRead: true },
  });
  assert.deepEqual(Responses[one], Array(20).fill({ v: { N: "7" } }));
  assert.deepEqual(Responses[two], [{ ...key("a", 4), v: { N: "7" } }]);
  assert.deepEqual(UnprocessedKeys, {});
});

test("puts and deletes together", async () => {
  await write({ [two]: [put(key("b", 1))] });
  await write({ [two]: [remove(key("b", 1)), put(key("b", 2)), remove(key("missing", 1))] });
  const { Items } = await dynamodb.send(
    new ScanCommand({
      TableName: two,
      FilterExpression: "pk = :b",
      ExpressionAttributeValues: { ":b": { S: "b" } },
    }),
  );
  assert.deepEqual(Items, [key("b", 2)]);
});

test("what is refused", async () => {
  const duplicates = "Provided list of item keys contains duplicates";
  const twice = [key("a", 1), key("a", 1)];
  await refusal(write({ [one]: twice.map(put) }), "ValidationException", duplicates);
  await refusal(get({ [one]: { Keys: twice } }), "ValidationException", duplicates);
  await refusal(
    write({ [one]: keys("c", 26).map(put) }),
    "ValidationException",
    "less than or equal to 25",
  );
  await refusal(write({ missing: [put(key("a", 1))] }), ResourceNotFoundException);
});
