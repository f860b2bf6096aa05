// UpdateTable; UpdateTimeToLive and DescribeTimeToLive; TagResource and its companions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import {
  DeleteTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  ListTagsOfResourceCommand,
  PutItemCommand,
  QueryCommand,
  ResourceNotFoundException,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { dynamodb, index, refusal, schema, table } from "./tables.js";

const describe = async (TableName) =>
  (await dynamodb.send(new DescribeTableCommand({ TableName }))).Table;
const update = (TableName, changes) =>
  dynamodb.send(new UpdateTableCommand({ TableName, ...changes }));

test("an index is added and taken away", async () => {
  const TableName = await table("js-settings-index", schema({ pk: "S" }));
  for (let number = 0; number < 40; number++) {
    const Item = { pk: { S: String(number) }, kind: { S: number % 2 ? "odd" : "even" } };
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
  }
  await update(TableName, {
    AttributeDefinitions: [{ AttributeName: "kind", AttributeType: "S" }],
    GlobalSecondaryIndexUpdates: [{ Create: index("by-kind", "kind") }],
  });
  // It is CREATING while items are copied into it.
  for (let round = 0; ; round++) {
    const [{ IndexStatus }] = (await describe(TableName)).GlobalSecondaryIndexes;
    if (IndexStatus === "ACTIVE") break;
    assert.equal(IndexStatus, "CREATING");
    assert.ok(round < 100, "the index is not built");
    await setTimeout(100);
  }
  const query = new QueryCommand({
    TableName,
    IndexName: "by-kind",
    KeyConditionExpression: "kind = :k",
    ExpressionAttributeValues: { ":k": { S: "odd" } },
  });
  assert.equal((await dynamodb.send(query)).Count, 20);
  await update(TableName, { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: "by-kind" } }] });
  assert.equal((await describe(TableName)).GlobalSecondaryIndexes, undefined);
  await refusal(dynamodb.send(query), "ValidationException", "does not have the specified index");
});

test("a protected table is not deleted", async () => {
  const TableName = await table("js-settings-protected");
  await update(TableName, { DeletionProtectionEnabled: true });
  assert.equal((await describe(TableName)).DeletionProtectionEnabled, true);
  const remove = dynamodb.send(new DeleteTableCommand({ TableName }));
  await refusal(remove, "ValidationException", "deletion protection");
  await update(TableName, { DeletionProtectionEnabled: false });
});

test("time to live", async () => {
  const TableName = await table("js-settings-ttl");
  const ttl = async () =>
    (await dynamodb.send(new DescribeTimeToLiveCommand({ TableName }))).TimeToLiveDescription;
  assert.deepEqual(await ttl(), { TimeToLiveStatus: "DISABLED" });
  const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
  await dynamodb.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  assert.deepEqual(await ttl(), { TimeToLiveStatus: "ENABLED", AttributeName: "expires" });
  await refusal(
    dynamodb.send(new UpdateTimeToLiveCommand({ TableName: "missing", TimeToLiveSpecification })),
    ResourceNotFoundException,
  );
});

test("tags", async () => {
  const tags = [{ Key: "stage", Value: "test" }];
  const name = await table("js-settings-tags", { ...schema({ pk: "S" }), Tags: tags });
  const { TableArn: ResourceArn } = await describe(name);
  const listed = async () =>
    (await dynamodb.send(new ListTagsOfResourceCommand({ ResourceArn }))).Tags;
  assert.deepEqual(await listed(), tags);
  const owner = { Key: "owner", Value: "ann" };
  await dynamodb.send(new TagResourceCommand({ ResourceArn, Tags: [owner] }));
  await dynamodb.send(new UntagResourceCommand({ ResourceArn, TagKeys: ["stage"] }));
  assert.deepEqual(await listed(), [owner]);
});

test("what is refused", async () => {
  const TableName = await table("js-settings-refused");
  await refusal(update(TableName, {}), "ValidationException");
  const gone = { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: "missing" } }] };
  await refusal(update(TableName, gone), ResourceNotFoundException);
});
