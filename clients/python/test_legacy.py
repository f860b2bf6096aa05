"""The parameters that expressions have replaced, as programs from before 2014 still send them."""

import boto3

from tables import ONCE, TableTest, schema


class Legacy(TableTest):
    def setUp(self):
        super().setUp()
        self.notes = self.table()

    def test_updates_and_expectations(self):
        key = {"pk": {"S": "ann"}, "sk": {"N": "1"}}
        updated = self.dynamodb.update_item(
            TableName=self.notes,
            Key=key,
            AttributeUpdates={
                "title": {"Action": "PUT", "Value": {"S": "tea"}},
                "count": {"Action": "ADD", "Value": {"N": "2"}},
                "tags": {"Action": "ADD", "Value": {"SS": ["a", "b"]}},
            },
            Expected={"pk": {"Exists": False}},
            ReturnValues="ALL_NEW",
        )["Attributes"]
        self.assertEqual((updated["title"], updated["count"]), ({"S": "tea"}, {"N": "2"}))
        with self.fails("ConditionalCheckFailedException"):
            self.dynamodb.put_item(
                TableName=self.notes, Item=key, Expected={"title": {"Value": {"S": "coffee"}}}
            )
        self.dynamodb.update_item(
            TableName=self.notes,
            Key=key,
            AttributeUpdates={
                "tags": {"Action": "DELETE", "Value": {"SS": ["a"]}},
                "title": {"Action": "DELETE"},
            },
            Expected={
                "count": {"ComparisonOperator": "GE", "AttributeValueList": [{"N": "2"}]},
                "gone": {"ComparisonOperator": "NULL"},
            },
            ConditionalOperator="AND",
        )
        got = self.dynamodb.get_item(
            TableName=self.notes, Key=key, AttributesToGet=["tags", "title", "count"]
        )
        self.assertEqual(got["Item"], {"tags": {"SS": ["b"]}, "count": {"N": "2"}})

    def test_queries_and_scans(self):
        for sk in range(10):
            status = "open" if sk % 2 else "done"
            item = {"pk": {"S": "q"}, "sk": {"N": str(sk)}, "status": {"S": status}}
            self.dynamodb.put_item(TableName=self.notes, Item=item)
        keys = {
            "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "q"}]},
            "sk": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "2"}, {"N": "7"}]},
        }
        is_open = {"status": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "open"}]}}
        found = self.dynamodb.query(
            TableName=self.notes, KeyConditions=keys, QueryFilter=is_open, AttributesToGet=["sk"]
        )
        self.assertEqual(found["Items"], [{"sk": {"N": str(sk)}} for sk in (3, 5, 7)])
        pages = self.dynamodb.get_paginator("scan").paginate(
            TableName=self.notes, ScanFilter=is_open, PaginationConfig={"PageSize": 3}
        )
        self.assertEqual(sum(page["Count"] for page in pages), 5)
        with self.fails("ValidationException", "Can not use both expression and non-expression"):
            self.dynamodb.scan(
                TableName=self.notes, ScanFilter=is_open, ProjectionExpression="sk"
            )

    def test_the_resource(self):
        resource = boto3.resource("dynamodb", config=ONCE)
        self.addCleanup(resource.meta.client.close)
        notes = resource.Table(self.notes)
        notes.put_item(Item={"pk": "r", "sk": 1, "n": 1}, Expected={"pk": {"Exists": False}})
        notes.update_item(
            Key={"pk": "r", "sk": 1}, AttributeUpdates={"n": {"Action": "ADD", "Value": 4}}
        )
        found = notes.query(
            KeyConditions={"pk": {"ComparisonOperator": "EQ", "AttributeValueList": ["r"]}},
            QueryFilter={"n": {"ComparisonOperator": "IN", "AttributeValueList": [4, 5]}},
        )
        self.assertEqual(found["Items"], [{"pk": "r", "sk": 1, "n": 5}])


class Leases(TableTest):
    """The lease table of a Kinesis consumer: one lease for each shard, taken and renewed by
    conditions on its owner and counter."""

    def setUp(self):
        super().setUp()
        self.leases = self.table(**schema(leaseKey="S"))

    def create(self, shard):
        lease = {
            "leaseKey": {"S": shard},
            "leaseCounter": {"N": "0"},
            "checkpoint": {"S": "TRIM_HORIZON"},
            "ownerSwitchesSinceCheckpoint": {"N": "0"},
        }
        expected = {"leaseKey": {"Exists": False}}
        self.dynamodb.put_item(TableName=self.leases, Item=lease, Expected=expected)

    def change(self, shard, counter, owner, **updates):
        """Changes a lease that nobody has changed since."""
        holder = {"Value": {"S": owner}} if owner else {"Exists": False}
        self.dynamodb.update_item(
            TableName=self.leases,
            Key={"leaseKey": {"S": shard}},
            Expected={"leaseCounter": {"Value": {"N": str(counter)}}, "leaseOwner": holder},
            AttributeUpdates={"leaseCounter": put(N=str(counter + 1)), **updates},
        )

    def lease(self, shard):
        key = {"leaseKey": {"S": shard}}
        return self.dynamodb.get_item(TableName=self.leases, Key=key, ConsistentRead=True)["Item"]

    def test_a_lease_is_created_once(self):
        self.create("shardId-0")
        with self.fails("ConditionalCheckFailedException"):
            self.create("shardId-0")

    def test_a_lease_is_taken_renewed_checkpointed_and_evicted(self):
        self.create("shardId-0")
        self.change("shardId-0", 0, None, leaseOwner=put(S="ann"))
        with self.fails("ConditionalCheckFailedException"):
            self.change("shardId-0", 0, None, leaseOwner=put(S="bob"))
        self.change("shardId-0", 1, "ann")
        self.change("shardId-0", 2, "ann", checkpoint=put(S="4957"))
        switches = {"Action": "ADD", "Value": {"N": "1"}}
        self.change(
            "shardId-0", 3, "ann", leaseOwner=put(S="bob"), ownerSwitchesSinceCheckpoint=switches
        )
        with self.fails("ConditionalCheckFailedException"):
            self.change("shardId-0", 3, "ann")
        self.change("shardId-0", 4, "bob", leaseOwner={"Action": "DELETE"})
        self.assertEqual(
            self.lease("shardId-0"),
            {
                "leaseKey": {"S": "shardId-0"},
                "leaseCounter": {"N": "5"},
                "checkpoint": {"S": "4957"},
                "ownerSwitchesSinceCheckpoint": {"N": "1"},
            },
        )

    def test_all_leases_are_listed_and_one_is_removed(self):
        for number in range(5):
            self.create(f"shardId-{number}")
        pages = self.dynamodb.get_paginator("scan").paginate(
            TableName=self.leases, PaginationConfig={"PageSize": 2}
        )
        keys = [lease["leaseKey"]["S"] for page in pages for lease in page["Items"]]
        self.assertCountEqual(keys, [f"shardId-{number}" for number in range(5)])
        self.dynamodb.delete_item(
            TableName=self.leases,
            Key={"leaseKey": {"S": "shardId-3"}},
            Expected={"leaseKey": {"Value": {"S": "shardId-3"}}},
        )
        left = self.dynamodb.scan(TableName=self.leases, AttributesToGet=["leaseKey"])
        self.assertEqual(left["Count"], 4)


def put(**value):
    return {"Action": "PUT", "Value": value}
