// The document client: plain JavaScript values for items.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  BatchWriteCommand,
  DynamoDBDocument,
  NumberValue,
  paginateQuery,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { all, dynamodb, refusal, table } from "./tables.js";

const TableName = "js-documents";
const documents = DynamoDBDocument.from(dynamodb, {
  marshallOptions: { removeUndefinedValues: true },
  unmarshallOptions: { wrapNumbers: false },
});
before(() => table(TableName));

test("plain values", async () => {
  const note = {
    pk: "ann",
    sk: 1,
    price: 19.99,
    tags: new Set(["a", "b"]),
    nested: { list: [null, true, "x", { n: -1 }] },
    when: undefined,
  };
  await documents.put({ TableName, Item: note });
  const { Item } = await documents.get({ TableName, Key: { pk: "ann", sk: 1 } });
  delete note.when;
  assert.deepEqual(Item, note);
});

test("numbers beyond JavaScript's", async () => {
  const exact = "12345678901234567890.123456789";
  const precise = DynamoDBDocument.from(new DynamoDBClient(), {
    unmarshallOptions: { wrapNumbers: true },
  });
  await precise.put({ TableName, Item: { pk: "exact", sk: 1, n: NumberValue.from(exact) } });
  const { Item } = await precise.get({ TableName, Key: { pk: "exact", sk: 1 } });
  assert.equal(Item.n.toString(), exact);
  precise.destroy();
});

test("many at once, and in pages", async () => {
  const puts = Array.from({ length: 25 }, (_, sk) => ({ PutRequest: { Item: { pk: "p", sk } } }));
  await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
  const pages = await all(
    paginateQuery(
      { client: documents, pageSize: 10 },
      { TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "p" } },
    ),
  );
  assert.deepEqual(pages.map((page) => page.Count), [10, 10, 5]);
  assert.deepEqual(pages[2].Items[0], { pk: "p", sk: 20 });
});

test("a condition on a nested value", async () => {
  await documents.put({ TableName, Item: { pk: "c", sk: 1, meta: { version: 1 } } });
  const raise = () =>
    documents.send(
      new UpdateCommand({
        TableName,
        Key: { pk: "c", sk: 1 },
        UpdateExpression: "SET meta.version = meta.version + :one",
        ConditionExpression: "meta.version = :one",
        ExpressionAttributeValues: { ":one": 1 },
        ReturnValues: "UPDATED_NEW",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
  assert.deepEqual((await raise()).Attributes, { meta: { version: 2 } });
  const failed = await refusal(raise(), "ConditionalCheckFailedException");
  assert.deepEqual(failed.Item.meta, { M: { version: { N: "2" } } });
});

test("a transaction", async () => {
  await documents.transactWrite({
    TransactItems: [
      { Put: { TableName, Item: { pk: "t", sk: 1, v: [1, 2] } } },
      { Put: { TableName, Item: { pk: "t", sk: 2 } } },
    ],
  });
  const { Responses } = await documents.transactGet({
    TransactItems: [1, 3].map((sk) => ({ Get: { TableName, Key: { pk: "t", sk } } })),
  });
  assert.deepEqual(Responses.map(({ Item }) => Item), [{ pk: "t", sk: 1, v: [1, 2] }, undefined]);
});
