// A shop with DynamoDB-Toolbox: customers, orders and stock in one table.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import {
  $add,
  $append,
  $get,
  $remove,
  $set,
  BatchGetCommand,
  BatchGetRequest,
  BatchPutRequest,
  BatchWriteCommand,
  ConditionCheck,
  DeleteItemCommand,
  DeletePartitionCommand,
  Entity,
  executeBatchGet,
  executeBatchWrite,
  executeTransactGet,
  executeTransactWrite,
  GetItemCommand,
  GetTransaction,
  item,
  list,
  map,
  number,
  PutItemCommand,
  PutTransaction,
  QueryCommand,
  ScanCommand,
  set,
  string,
  Table,
  UpdateItemCommand,
  UpdateTransaction,
} from "dynamodb-toolbox";
import { dynamodb, index, refusal, schema, table } from "./tables.js";

const shop = new Table({
  name: "js-toolbox",
  documentClient: DynamoDBDocumentClient.from(dynamodb),
  partitionKey: { name: "pk", type: "string" },
  sortKey: { name: "sk", type: "string" },
  indexes: {
    "by-status": {
      type: "global",
      partitionKey: { name: "status", type: "string" },
      sortKey: { name: "total", type: "number" },
    },
  },
});

const Customer = new Entity({
  name: "CUSTOMER",
  table: shop,
  schema: item({
    customerId: string().key(),
    name: string(),
    interests: set(string()).optional(),
    address: map({ city: string(), street: string().optional() }).optional(),
  }),
  computeKey: ({ customerId }) => ({ pk: `CUSTOMER#${customerId}`, sk: "PROFILE" }),
});

const Order = new Entity({
  name: "ORDER",
  table: shop,
  schema: item({
    customerId: string().key(),
    orderId: string().key(),
    status: string().enum("open", "paid").default("open"),
    total: number(),
    lines: list(map({ product: string(), quantity: number() })).default([]),
  }),
  computeKey: ({ customerId, orderId }) => ({ pk: `CUSTOMER#${customerId}`, sk: `ORDER#${orderId}` }),
});

const Stock = new Entity({
  name: "STOCK",
  table: shop,
  schema: item({ product: string().key(), quantity: number() }),
  computeKey: ({ product }) => ({ pk: `PRODUCT#${product}`, sk: "STOCK" }),
});

before(async () => {
  const definition = schema({ pk: "S", sk: "S" });
  const { AttributeDefinitions } = schema({ status: "S", total: "N" });
  definition.AttributeDefinitions.push(...AttributeDefinitions);
  await table("js-toolbox", {
    ...definition,
    GlobalSecondaryIndexes: [index("by-status", "status", "total")],
  });
  await Stock.build(PutItemCommand).item({ product: "lamp", quantity: 5 }).send();
  const orders = Array.from({ length: 10 }, (_, n) => ({
    customerId: "ann",
    orderId: `o${n}`,
    total: n * 10,
    status: n % 2 ? "paid" : "open",
  }));
  await executeBatchWrite(
    shop.build(BatchWriteCommand).requests(
      Customer.build(BatchPutRequest).item({ customerId: "ann", name: "Ann" }),
      ...orders.map((order) => Order.build(BatchPutRequest).item(order)),
    ),
  );
});

const lamps = async () =>
  (await Stock.build(GetItemCommand).key({ product: "lamp" }).options({ consistent: true }).send()).Item
    .quantity;

test("a customer, whole and in part", async () => {
  const { Item } = await Customer.build(GetItemCommand).key({ customerId: "ann" }).send();
  assert.deepEqual([Item.name, Item.customerId], ["Ann", "ann"]);
  const part = await Customer.build(GetItemCommand)
    .key({ customerId: "ann" })
    .options({ attributes: ["name"] })
    .send();
  assert.deepEqual(part.Item, { name: "Ann" });
});

test("a put that may not replace", async () => {
  const put = Customer.build(PutItemCommand)
    .item({ customerId: "ann", name: "Another" })
    .options({ condition: { attr: "customerId", exists: false } });
  await refusal(put.send(), "ConditionalCheckFailedException", "The conditional request failed");
});

test("updates of every kind", async () => {
  await Customer.build(UpdateItemCommand)
    .item({
      customerId: "ann",
      address: $set({ city: "Oslo", street: "1" }),
      interests: new Set(["light"]),
    })
    .send();
  const { Attributes } = await Customer.build(UpdateItemCommand)
    .item({
      customerId: "ann",
      address: { city: "Rome", street: $remove() },
      interests: $add(new Set(["sound"])),
    })
    .options({ returnValues: "ALL_NEW" })
    .send();
  assert.deepEqual(Attributes.address, { city: "Rome" });
  assert.deepEqual([...Attributes.interests].sort(), ["light", "sound"]);
  const order = await Order.build(UpdateItemCommand)
    .item({
      customerId: "ann",
      orderId: "o0",
      lines: $append([{ product: "lamp", quantity: 1 }]),
      total: $add(7),
      status: $get("status", "open"),
    })
    .options({ returnValues: "UPDATED_NEW" })
    .send();
  assert.deepEqual([order.Attributes.total, order.Attributes.lines.length], [7, 1]);
});

test("a partition by its kinds, in pages", async () => {
  const query = (options) =>
    shop
      .build(QueryCommand)
      .query({ partition: "CUSTOMER#ann" })
      .entities(Customer, Order)
      .options(options)
      .send();
  const kinds = [];
  let exclusiveStartKey;
  do {
    const page = await query({ limit: 4, exclusiveStartKey, showEntityAttr: true });
    kinds.push(...page.Items.map((it) => it.entity));
    exclusiveStartKey = page.LastEvaluatedKey;
  } while (exclusiveStartKey);
  assert.deepEqual(kinds, [...Array(10).fill("ORDER"), "CUSTOMER"]);
  const whole = await query({ maxPages: Infinity, limit: 3 });
  assert.equal(whole.Count, 11);
});

test("an index with a range and a filter", async () => {
  const { Items } = await shop
    .build(QueryCommand)
    .query({ index: "by-status", partition: "paid", range: { between: [20, 80] } })
    .entities(Order)
    .options({ filters: { ORDER: { attr: "orderId", ne: "o5" } }, reverse: true })
    .send();
  assert.deepEqual(Items.map((it) => it.total), [70, 30]);
});

test("several items in one request", async () => {
  const { Responses } = await executeBatchGet(
    shop
      .build(BatchGetCommand)
      .requests(
        Customer.build(BatchGetRequest).key({ customerId: "ann" }),
        Order.build(BatchGetRequest).key({ customerId: "ann", orderId: "o1" }),
        Order.build(BatchGetRequest).key({ customerId: "ann", orderId: "missing" }),
      ),
  );
  const [ann, order, missing] = Responses[0];
  assert.deepEqual([ann.name, order.total, missing], ["Ann", 10, undefined]);
});

test("an order takes from the stock, or is none", async () => {
  const buy = (orderId, quantity) =>
    executeTransactWrite(
      Customer.build(ConditionCheck).key({ customerId: "ann" }).condition({ attr: "name", exists: true }),
      Stock.build(UpdateTransaction)
        .item({ product: "lamp", quantity: $add(-quantity) })
        .options({ condition: { attr: "quantity", gte: quantity } }),
      Order.build(PutTransaction).item({
        customerId: "ann",
        orderId,
        total: 100,
        lines: [{ product: "lamp", quantity }],
      }),
    );
  await buy("x1", 3);
  assert.equal(await lamps(), 2);
  const cancelled = await refusal(buy("x2", 3), "TransactionCanceledException");
  const codes = cancelled.CancellationReasons.map((reason) => reason.Code);
  assert.deepEqual(codes, ["None", "ConditionalCheckFailed", "None"]);
  assert.equal(await lamps(), 2);
  const { Responses } = await executeTransactGet(
    Order.build(GetTransaction).key({ customerId: "ann", orderId: "x1" }),
    Order.build(GetTransaction).key({ customerId: "ann", orderId: "x2" }),
  );
  assert.equal(Responses[0].Item.lines[0].quantity, 3);
  assert.equal(Responses[1].Item, undefined);
});

test("a scan of one kind, in segments", async () => {
  const parts = await Promise.all(
    [0, 1].map((segment) =>
      shop
        .build(ScanCommand)
        .entities(Stock)
        .options({ segment, totalSegments: 2, maxPages: Infinity })
        .send(),
    ),
  );
  const found = parts.flatMap((part) => part.Items);
  assert.deepEqual(found.map((it) => it.product), ["lamp"]);
});

test("a delete, and a whole partition", async () => {
  const { Attributes } = await Order.build(DeleteItemCommand)
    .key({ customerId: "ann", orderId: "o9" })
    .options({ returnValues: "ALL_OLD" })
    .send();
  assert.equal(Attributes.total, 90);
  await shop
    .build(DeletePartitionCommand)
    .query({ partition: "CUSTOMER#ann" })
    .entities(Customer, Order)
    .send();
  const { Count } = await shop.build(QueryCommand).query({ partition: "CUSTOMER#ann" }).send();
  assert.equal(Count, 0);
});
