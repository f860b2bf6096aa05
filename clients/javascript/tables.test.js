// CreateTable, DescribeTable, ListTables, DeleteTable; DescribeLimits, DescribeEndpoints.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeEndpointsCommand,
  DescribeLimitsCommand,
  DescribeTableCommand,
  ListBackupsCommand,
  paginateListTables,
  ResourceInUseException,
  ResourceNotFoundException,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { all, dynamodb, key, refusal, schema, table } from "./tables.js";

const describe = async (TableName) =>
  (await dynamodb.send(new DescribeTableCommand({ TableName }))).Table;

test("a table describes itself", async () => {
  await table("js-tables-one");
  const described = await describe("js-tables-one");
  assert.equal(described.TableStatus, "ACTIVE");
  assert.deepEqual(described.KeySchema, key("pk", "sk"));
  assert.ok(Math.abs(Date.now() - described.CreationDateTime) < 60_000);
  assert.equal((await describe(described.TableArn)).TableName, "js-tables-one");
  await refusal(
    dynamodb.send(new CreateTableCommand({ TableName: "js-tables-one", ...schema({ pk: "S" }) })),
    ResourceInUseException,
    "Table already exists: js-tables-one",
  );
});

test("lists in pages", async () => {
  const names = ["js-tables-a", "js-tables-b", "js-tables-c"];
  for (const name of names) await table(name);
  const pages = await all(paginateListTables({ client: dynamodb, pageSize: 2 }, {}));
  assert.ok(pages.every((page) => page.TableNames.length <= 2));
  const listed = pages.flatMap((page) => page.TableNames);
  assert.deepEqual(listed.filter((name) => names.includes(name)), names);
});

test("a deleted table is gone", async () => {
  const TableName = "js-tables-gone";
  await dynamodb.send(new CreateTableCommand({ TableName, ...schema({ pk: "S" }) }));
  await dynamodb.send(new DeleteTableCommand({ TableName }));
  await waitUntilTableNotExists({ client: dynamodb, maxWaitTime: 30 }, { TableName });
  await refusal(describe(TableName), ResourceNotFoundException, `Table: ${TableName} not found`);
});

test("the account", async () => {
  const limits = await dynamodb.send(new DescribeLimitsCommand({}));
  assert.ok(limits.AccountMaxReadCapacityUnits >= 40_000);
  const { Endpoints } = await dynamodb.send(new DescribeEndpointsCommand({}));
  assert.ok(process.env.AWS_ENDPOINT_URL.includes(Endpoints[0].Address));
});

test("what is not there says so", async () => {
  await refusal(dynamodb.send(new ListBackupsCommand({})), "UnknownOperationException");
});
