"""UpdateTable; UpdateTimeToLive and DescribeTimeToLive; TagResource and its companions."""

import time

from tables import TableTest, schema


class Settings(TableTest):
    def describe(self, name):
        return self.dynamodb.describe_table(TableName=name)["Table"]

    def wait_for_index(self, name):
        """Until the index is built: it is CREATING while items are copied into it."""
        for _ in range(100):
            [index] = self.describe(name)["GlobalSecondaryIndexes"]
            if index["IndexStatus"] == "ACTIVE":
                return
            self.assertEqual(index["IndexStatus"], "CREATING")
            time.sleep(0.1)
        self.fail("the index is not built")

    def test_an_index_is_added_and_taken_away(self):
        name = self.table(**schema(pk="S"))
        for number in range(40):
            item = {"pk": {"S": str(number)}, "kind": {"S": "even" if number % 2 == 0 else "odd"}}
            self.dynamodb.put_item(TableName=name, Item=item)
        self.dynamodb.update_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "kind", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[
                {
                    "Create": {
                        "IndexName": "by-kind",
                        "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    }
                }
            ],
        )
        self.wait_for_index(name)
        query = {
            "TableName": name,
            "IndexName": "by-kind",
            "KeyConditionExpression": "kind = :k",
            "ExpressionAttributeValues": {":k": {"S": "odd"}},
        }
        self.assertEqual(self.dynamodb.query(**query)["Count"], 20)
        self.dynamodb.update_table(
            TableName=name, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-kind"}}]
        )
        self.assertNotIn("GlobalSecondaryIndexes", self.describe(name))
        with self.fails("ValidationException", "does not have the specified index"):
            self.dynamodb.query(**query)

    def test_billing_and_protection(self):
        name = self.table()
        throughput = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
        self.dynamodb.update_table(
            TableName=name, BillingMode="PROVISIONED", ProvisionedThroughput=throughput
        )
        described = self.describe(name)["ProvisionedThroughput"]
        self.assertEqual({key: described[key] for key in throughput}, throughput)

        self.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=True)
        with self.fails("ValidationException", "deletion protection"):
            self.dynamodb.delete_table(TableName=name)
        self.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)

    def test_what_is_refused(self):
        name = self.table()
        with self.fails("ValidationException"):
            self.dynamodb.update_table(TableName=name)
        with self.fails("ResourceNotFoundException"):
            self.dynamodb.update_table(TableName="missing", BillingMode="PAY_PER_REQUEST")
        with self.fails("ResourceNotFoundException"):
            self.dynamodb.update_table(
                TableName=name,
                GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "missing"}}],
            )

    def test_time_to_live(self):
        name = self.table()
        ttl = lambda: self.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        self.assertEqual(ttl(), {"TimeToLiveStatus": "DISABLED"})
        specification = {"AttributeName": "expires", "Enabled": True}
        answer = self.dynamodb.update_time_to_live(
            TableName=name, TimeToLiveSpecification=specification
        )
        self.assertEqual(answer["TimeToLiveSpecification"], specification)
        self.assertEqual(ttl(), {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"})
        with self.fails("ValidationException", "already enabled"):
            self.dynamodb.update_time_to_live(
                TableName=name, TimeToLiveSpecification=specification
            )
        with self.fails("ResourceNotFoundException"):
            self.dynamodb.describe_time_to_live(TableName="missing")

    def test_tags(self):
        tag = lambda key, value: {"Key": key, "Value": value}
        name = self.table(**schema(pk="S"), Tags=[tag("stage", "test")])
        arn = self.describe(name)["TableArn"]

        def tags():
            pages = self.dynamodb.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
            return sorted((it["Key"], it["Value"]) for page in pages for it in page["Tags"])

        self.assertEqual(tags(), [("stage", "test")])
        more = [tag("owner", "ann"), tag("stage", "next")]
        self.dynamodb.tag_resource(ResourceArn=arn, Tags=more)
        self.assertEqual(tags(), [("owner", "ann"), ("stage", "next")])
        self.dynamodb.untag_resource(ResourceArn=arn, TagKeys=["stage", "missing"])
        self.assertEqual(tags(), [("owner", "ann")])
        with self.fails("ResourceNotFoundException"):
            self.dynamodb.list_tags_of_resource(ResourceArn=arn + "-missing")
