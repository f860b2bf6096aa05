"""Boto3's resource API: plain Python values, Decimals, sets, and batches that write themselves."""

from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary

from tables import ONCE, TableTest


class Resource(TableTest):
    def setUp(self):
        super().setUp()
        name = self.table()
        resource = boto3.resource("dynamodb", config=ONCE)
        self.addCleanup(resource.meta.client.close)
        self.notes = resource.Table(name)

    def test_plain_values(self):
        note = {
            "pk": "ann",
            "sk": Decimal(1),
            "price": Decimal("19.990000000000000000000000000000000001"),
            "tags": {"a", "b"},
            "scores": {Decimal(1), Decimal("2.5")},
            "bytes": Binary(b"\x00\x01"),
            "nested": {"list": [None, True, "x", {"n": Decimal(-1)}]},
        }
        self.notes.put_item(Item=note)
        got = self.notes.get_item(Key={"pk": "ann", "sk": 1}, ConsistentRead=True)
        self.assertEqual(got["Item"], note)

    def test_writing_in_batches(self):
        with self.notes.batch_writer(overwrite_by_pkeys=["pk", "sk"]) as batch:
            for sk in range(60):
                batch.put_item(Item={"pk": "many", "sk": sk % 55, "round": sk})
        counted = self.notes.query(
            KeyConditionExpression=Key("pk").eq("many"), Select="COUNT", ConsistentRead=True
        )
        self.assertEqual(counted["Count"], 55)

    def test_conditions_as_objects(self):
        for sk in range(10):
            self.notes.put_item(Item={"pk": "c", "sk": sk, "status": "open" if sk % 2 else "done"})
        found = self.notes.query(
            KeyConditionExpression=Key("pk").eq("c") & Key("sk").between(2, 7),
            FilterExpression=Attr("status").is_in(["open"]) & ~Attr("missing").exists(),
            ProjectionExpression="sk",
        )
        self.assertEqual(found["Items"], [{"sk": Decimal(sk)} for sk in (3, 5, 7)])
        with self.fails("ConditionalCheckFailedException"):
            self.notes.put_item(
                Item={"pk": "c", "sk": 1}, ConditionExpression=Attr("status").begins_with("d")
            )

    def test_a_counter(self):
        for _ in range(3):
            updated = self.notes.update_item(
                Key={"pk": "n", "sk": 0},
                UpdateExpression="ADD hits :one SET #s = if_not_exists(#s, :start)",
                ExpressionAttributeNames={"#s": "start"},
                ExpressionAttributeValues={":one": 1, ":start": "now"},
                ReturnValues="ALL_NEW",
            )
        self.assertEqual(updated["Attributes"]["hits"], Decimal(3))

    def test_the_table_itself(self):
        self.notes.load()
        self.assertEqual(self.notes.table_status, "ACTIVE")
        self.assertEqual(self.notes.key_schema[0], {"AttributeName": "pk", "KeyType": "HASH"})
        self.notes.delete()
        self.notes.wait_until_not_exists()
