// Query and Scan: conditions on keys, pages, indexes, segments.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  paginateQuery,
  paginateScan,
  PutItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { all, dynamodb, index, key, refusal, schema, table } from "./tables.js";

const TableName = "js-queries";
const p = { ":p": { S: "p" } };

// A partition `p` of 30 rows; every third is open, and only those stand in the index.
before(async () => {
  const definition = schema({ pk: "S", sk: "N" });
  definition.AttributeDefinitions.push(
    { AttributeName: "open", AttributeType: "S" },
    { AttributeName: "due", AttributeType: "N" },
  );
  await table(TableName, {
    ...definition,
    GlobalSecondaryIndexes: [
      {
        ...index("by-open", "open", "due"),
        Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["title"] },
      },
    ],
    LocalSecondaryIndexes: [
      {
        IndexName: "by-due",
        KeySchema: key("pk", "due"),
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  });
  for (let sk = 0; sk < 30; sk++) {
    const Item = { pk: { S: "p" }, sk: { N: String(sk) }, title: { S: `t${sk}` }, body: { S: "b" } };
    if (sk % 3 === 0) Object.assign(Item, { open: { S: "yes" }, due: { N: String(100 - sk) } });
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
  }
});

const numbers = (length, of = (n) => n) => Array.from({ length }, (_, n) => of(n));
const sorts = (pages) => pages.flatMap((page) => page.Items).map((item) => Number(item.sk.N));
const ordered = (sorts) => sorts.toSorted((one, two) => one - two);
const query = (parameters, pageSize) =>
  all(paginateQuery({ client: dynamodb, pageSize }, { TableName, ...parameters }));
const scan = (parameters, pageSize) =>
  all(paginateScan({ client: dynamodb, pageSize }, { TableName, ...parameters }));

test("a partition in pages, forwards and backwards", async () => {
  const partition = { KeyConditionExpression: "pk = :p", ExpressionAttributeValues: p };
  const pages = await query(partition, 7);
  assert.deepEqual(pages.map((page) => page.Count), [7, 7, 7, 7, 2]);
  assert.deepEqual(sorts(pages), numbers(30));
  const backwards = await query({ ...partition, ScanIndexForward: false }, 11);
  assert.deepEqual(sorts(backwards), numbers(30).reverse());
});

test("a range of sort keys, filtered", async () => {
  const [page] = await query({
    KeyConditionExpression: "pk = :p AND sk BETWEEN :a AND :b",
    FilterExpression: "attribute_exists(#o)",
    ExpressionAttributeNames: { "#o": "open" },
    ExpressionAttributeValues: { ...p, ":a": { N: "4" }, ":b": { N: "9" } },
  });
  assert.deepEqual([page.Count, page.ScannedCount, sorts([page])], [2, 6, [6, 9]]);
});

test("a sparse global index", async () => {
  const pages = await query(
    {
      IndexName: "by-open",
      KeyConditionExpression: "#o = :o AND due > :d",
      ExpressionAttributeNames: { "#o": "open" },
      ExpressionAttributeValues: { ":o": { S: "yes" }, ":d": { N: "80" } },
    },
    3,
  );
  assert.deepEqual(sorts(pages), [18, 15, 12, 9, 6, 3, 0]);
  assert.deepEqual(Object.keys(pages[0].LastEvaluatedKey).sort(), ["due", "open", "pk", "sk"]);
  assert.deepEqual(Object.keys(pages[0].Items[0]).sort(), ["due", "open", "pk", "sk", "title"]);
});

test("a local index reads the table for what it has not", async () => {
  const parameters = {
    IndexName: "by-due",
    KeyConditionExpression: "pk = :p",
    ExpressionAttributeValues: p,
    ConsistentRead: true,
  };
  const [page] = await query(parameters);
  assert.deepEqual(Object.keys(page.Items[0]).sort(), ["due", "pk", "sk"]);
  const [whole] = await query({ ...parameters, Select: "ALL_ATTRIBUTES" });
  assert.deepEqual(whole.Items[0].body, { S: "b" });
});

test("a scan in pages and in segments", async () => {
  assert.deepEqual(ordered(sorts(await scan({}, 4))), numbers(30));
  const segments = numbers(3).map((Segment) => scan({ Segment, TotalSegments: 3 }));
  assert.deepEqual(ordered(sorts((await Promise.all(segments)).flat())), numbers(30));
  const open = sorts(await scan({ IndexName: "by-open" }));
  assert.deepEqual(ordered(open), numbers(10, (n) => 3 * n));
});

test("what is refused", async () => {
  const send = (parameters) =>
    dynamodb.send(new QueryCommand({ TableName, ExpressionAttributeValues: p, ...parameters }));
  await refusal(
    send({ KeyConditionExpression: "sk = :p" }),
    "ValidationException",
    "Query condition missed key schema element: pk",
  );
  await refusal(
    send({ KeyConditionExpression: "pk = :p", IndexName: "missing" }),
    "ValidationException",
    "does not have the specified index",
  );
  await refusal(send({ KeyConditionExpression: "pk = :p AND" }), "ValidationException", "Syntax error");
});
