"""ListStreams, DescribeStream, GetShardIterator, GetRecords: what happened to the items of a table."""

import time

from tables import TableTest, client, schema

# How long the endpoint may take to sweep an item that has expired.
PATIENCE_SECONDS = 30


class Streams(TableTest):
    def setUp(self):
        super().setUp()
        self.streams = client("dynamodbstreams")
        self.addCleanup(self.streams.close)
        self.notes = self.table(
            **schema(pk="S"),
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        described = self.dynamodb.describe_table(TableName=self.notes)["Table"]
        self.arn = described["LatestStreamArn"]
        self.key = {"pk": {"S": "ann"}}

    def shard(self):
        stream = self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]
        return stream["Shards"][0]["ShardId"]

    def iterator(self, kind, **place):
        answer = self.streams.get_shard_iterator(
            StreamArn=self.arn, ShardId=self.shard(), ShardIteratorType=kind, **place
        )
        return answer["ShardIterator"]

    def read(self, iterator, **parameters):
        answer = self.streams.get_records(ShardIterator=iterator, **parameters)
        return answer["Records"], answer.get("NextShardIterator")

    def change(self):
        """An item comes, changes, does not change, and goes."""
        put = lambda v: self.dynamodb.put_item(
            TableName=self.notes, Item={**self.key, "v": {"N": str(v)}}
        )
        put(1), put(2), put(2)
        self.dynamodb.delete_item(TableName=self.notes, Key=self.key)

    def test_a_stream_describes_itself(self):
        listed = self.streams.list_streams(TableName=self.notes)["Streams"]
        self.assertEqual([it["StreamArn"] for it in listed], [self.arn])
        self.assertEqual(listed[0]["TableName"], self.notes)
        stream = self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]
        self.assertEqual(stream["StreamStatus"], "ENABLED")
        self.assertEqual(stream["StreamViewType"], "NEW_AND_OLD_IMAGES")
        self.assertEqual(stream["KeySchema"], [{"AttributeName": "pk", "KeyType": "HASH"}])
        self.assertTrue(stream["StreamArn"].endswith(stream["StreamLabel"]))

    def test_every_change_in_order(self):
        self.change()
        records, _ = self.read(self.iterator("TRIM_HORIZON"))
        names = [record["eventName"] for record in records]
        self.assertEqual(names, ["INSERT", "MODIFY", "REMOVE"])
        insert, modify, remove = [record["dynamodb"] for record in records]
        self.assertEqual(insert["Keys"], self.key)
        self.assertEqual(insert["NewImage"], {**self.key, "v": {"N": "1"}})
        self.assertNotIn("OldImage", insert)
        self.assertEqual(modify["OldImage"]["v"], {"N": "1"})
        self.assertEqual(modify["NewImage"]["v"], {"N": "2"})
        self.assertNotIn("NewImage", remove)
        numbers = [int(it["SequenceNumber"]) for it in (insert, modify, remove)]
        self.assertEqual(numbers, sorted(numbers))
        for record in records:
            self.assertEqual(record["eventSource"], "aws:dynamodb")
            self.assertEqual(record["dynamodb"]["StreamViewType"], "NEW_AND_OLD_IMAGES")

    def test_in_pages_and_from_a_place(self):
        self.change()
        iterator, found = self.iterator("TRIM_HORIZON"), []
        for _ in range(3):
            records, iterator = self.read(iterator, Limit=1)
            found += records
        self.assertEqual(len(found), 3)
        second = found[1]["dynamodb"]["SequenceNumber"]
        at, _ = self.read(self.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=second))
        after, _ = self.read(self.iterator("AFTER_SEQUENCE_NUMBER", SequenceNumber=second))
        self.assertEqual((len(at), len(after)), (2, 1))

    def test_only_what_is_new(self):
        self.change()
        iterator = self.iterator("LATEST")
        self.dynamodb.put_item(TableName=self.notes, Item=self.key)
        records, following = self.read(iterator)
        self.assertEqual([record["eventName"] for record in records], ["INSERT"])
        self.assertEqual(self.read(following)[0], [])

    def test_a_transaction_is_seen_whole(self):
        puts = [
            {"Put": {"TableName": self.notes, "Item": {"pk": {"S": str(number)}}}}
            for number in range(3)
        ]
        self.dynamodb.transact_write_items(TransactItems=puts)
        records, _ = self.read(self.iterator("TRIM_HORIZON"))
        keys = [record["dynamodb"]["Keys"]["pk"]["S"] for record in records]
        self.assertCountEqual(keys, ["0", "1", "2"])

    def test_who_has_deleted_an_item(self):
        self.dynamodb.update_time_to_live(
            TableName=self.notes,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
        )
        expired = {**self.key, "expires": {"N": str(int(time.time()) - 60)}}
        self.dynamodb.put_item(TableName=self.notes, Item=expired)
        self.dynamodb.put_item(TableName=self.notes, Item={"pk": {"S": "bob"}})
        self.dynamodb.delete_item(TableName=self.notes, Key={"pk": {"S": "bob"}})
        swept, deleted = self.removals()
        self.assertEqual(swept["dynamodb"]["OldImage"], expired)
        self.assertEqual(
            swept["userIdentity"], {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
        )
        self.assertNotIn("userIdentity", deleted)

    def removals(self):
        """The records of what was deleted, by key, once there are both."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            records, _ = self.read(self.iterator("TRIM_HORIZON"))
            removed = [record for record in records if record["eventName"] == "REMOVE"]
            if len(removed) == 2:
                return sorted(removed, key=lambda record: record["dynamodb"]["Keys"]["pk"]["S"])
            time.sleep(0.1)
        self.fail(f"not swept within {PATIENCE_SECONDS} s")

    def test_a_stream_ends_and_another_begins(self):
        self.change()
        self.dynamodb.update_table(
            TableName=self.notes, StreamSpecification={"StreamEnabled": False}
        )
        stream = self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]
        self.assertEqual(stream["StreamStatus"], "DISABLED")
        self.dynamodb.put_item(TableName=self.notes, Item=self.key)
        records, following = self.read(self.iterator("TRIM_HORIZON"))
        self.assertEqual((len(records), following), (3, None))

    def test_what_is_refused(self):
        missing = self.arn.replace(self.notes, "missing")
        with self.assertRaises(self.streams.exceptions.ResourceNotFoundException):
            self.streams.describe_stream(StreamArn=missing)
        with self.assertRaises(self.streams.exceptions.ResourceNotFoundException):
            self.streams.get_shard_iterator(
                StreamArn=self.arn, ShardId="shardId-00000000000000000000-00000000", ShardIteratorType="LATEST"
            )
