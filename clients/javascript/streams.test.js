// ListStreams, DescribeStream, GetShardIterator, GetRecords: what happened to a table's items.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  DeleteItemCommand,
  DescribeTableCommand,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  ResourceNotFoundException,
} from "@aws-sdk/client-dynamodb-streams";
import { dynamodb, refusal, schema, table } from "./tables.js";

const TableName = "js-streams";
const Key = { pk: { S: "ann" } };
const streams = new DynamoDBStreamsClient({ maxAttempts: 1 });
after(() => streams.destroy());
let StreamArn;

// An item comes, changes, does not change, and goes.
before(async () => {
  await table(TableName, {
    ...schema({ pk: "S" }),
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  });
  const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName }));
  StreamArn = Table.LatestStreamArn;
  for (const v of ["1", "2", "2"]) {
    await dynamodb.send(new PutItemCommand({ TableName, Item: { ...Key, v: { N: v } } }));
  }
  await dynamodb.send(new DeleteItemCommand({ TableName, Key }));
});

async function iterator(ShardIteratorType, place = {}) {
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  const [{ ShardId }] = StreamDescription.Shards;
  const { ShardIterator } = await streams.send(
    new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType, ...place }),
  );
  return ShardIterator;
}

const read = (ShardIterator, parameters = {}) =>
  streams.send(new GetRecordsCommand({ ShardIterator, ...parameters }));

test("a stream describes itself", async () => {
  const { Streams } = await streams.send(new ListStreamsCommand({ TableName }));
  assert.deepEqual(Streams.map((it) => it.StreamArn), [StreamArn]);
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  assert.equal(StreamDescription.StreamStatus, "ENABLED");
  assert.equal(StreamDescription.StreamViewType, "NEW_AND_OLD_IMAGES");
});

test("every change in order", async () => {
  const { Records } = await read(await iterator("TRIM_HORIZON"), { Limit: 3 });
  assert.deepEqual(Records.map((it) => it.eventName), ["INSERT", "MODIFY", "REMOVE"]);
  const [insert, modify, remove] = Records.map((it) => it.dynamodb);
  assert.deepEqual(insert.NewImage, { ...Key, v: { N: "1" } });
  assert.deepEqual([modify.OldImage.v, modify.NewImage.v], [{ N: "1" }, { N: "2" }]);
  assert.equal(remove.NewImage, undefined);
});

test("from a place", async () => {
  const { Records } = await read(await iterator("TRIM_HORIZON"), { Limit: 2 });
  const { SequenceNumber } = Records[1].dynamodb;
  const at = await read(await iterator("AT_SEQUENCE_NUMBER", { SequenceNumber }), { Limit: 1 });
  assert.equal(at.Records[0].dynamodb.SequenceNumber, SequenceNumber);
  const after = await read(await iterator("AFTER_SEQUENCE_NUMBER", { SequenceNumber }));
  assert.equal(after.Records[0].eventName, "REMOVE");
});

test("only what is new", async () => {
  const latest = await iterator("LATEST");
  await dynamodb.send(new PutItemCommand({ TableName, Item: Key }));
  const { Records, NextShardIterator } = await read(latest);
  assert.deepEqual(Records.map((it) => it.eventName), ["INSERT"]);
  assert.deepEqual((await read(NextShardIterator)).Records, []);
});

test("what is refused", async () => {
  const missing = StreamArn.replace(TableName, "missing");
  await refusal(
    streams.send(new DescribeStreamCommand({ StreamArn: missing })),
    ResourceNotFoundException,
  );
});
