"""PutItem, GetItem, UpdateItem, DeleteItem."""

from tables import TableTest


class Items(TableTest):
    def setUp(self):
        super().setUp()
        self.notes = self.table()
        self.key = {"pk": {"S": "ann"}, "sk": {"N": "1"}}

    def put(self, **attributes):
        return self.dynamodb.put_item(TableName=self.notes, Item={**self.key, **attributes})

    def get(self, **parameters):
        got = self.dynamodb.get_item(TableName=self.notes, Key=self.key, **parameters)
        return got.get("Item")

    def update(self, expression, **parameters):
        return self.dynamodb.update_item(
            TableName=self.notes, Key=self.key, UpdateExpression=expression, **parameters
        )

    def test_every_type_comes_back_as_it_went(self):
        everything = {
            "text": {"S": "żółw 🐢"},
            "empty": {"S": ""},
            "number": {"N": "-1234567890.0123456789"},
            "binary": {"B": b"\x00\xff"},
            "true": {"BOOL": True},
            "null": {"NULL": True},
            "list": {"L": [{"S": "a"}, {"L": [{"N": "2"}]}]},
            "map": {"M": {"deep": {"M": {"deeper": {"BOOL": False}}}}},
            "numbers": {"NS": ["1", "2.5"]},
            "texts": {"SS": ["a", "b"]},
            "binaries": {"BS": [b"\x01", b"\x02"]},
        }
        self.put(**everything)
        item = self.get(ConsistentRead=True)
        for name, kind in ("numbers", "NS"), ("texts", "SS"), ("binaries", "BS"):
            # Sets have no order.
            self.assertCountEqual(item.pop(name)[kind], everything.pop(name)[kind])
        self.assertEqual(item, {**self.key, **everything})

    def test_numbers_are_exact_and_normal(self):
        for given, kept in [("00042", "42"), ("1.50", "1.5"), ("1.5E2", "150"), ("-0", "0")]:
            self.put(n={"N": given})
            self.assertEqual(self.get()["n"], {"N": kept})
        long = "1234567890123456789012345678901234567.8"
        self.put(n={"N": long})
        self.assertEqual(self.get()["n"], {"N": long})
        with self.fails("ValidationException", "38 significant digits"):
            self.put(n={"N": "1" * 39})

    def test_a_missing_item_is_no_item(self):
        self.assertIsNone(self.get())

    def test_a_projection(self):
        self.put(a={"M": {"b": {"L": [{"N": "0"}, {"N": "1"}]}}}, status={"S": "x"})
        item = self.get(
            ProjectionExpression="#s, a.b[1]", ExpressionAttributeNames={"#s": "status"}
        )
        self.assertEqual(item, {"status": {"S": "x"}, "a": {"M": {"b": {"L": [{"N": "1"}]}}}})

    def test_put_returns_what_was_there(self):
        self.assertNotIn("Attributes", self.put(v={"N": "1"}))
        replaced = self.dynamodb.put_item(
            TableName=self.notes, Item=self.key, ReturnValues="ALL_OLD"
        )
        self.assertEqual(replaced["Attributes"], {**self.key, "v": {"N": "1"}})
        self.assertEqual(self.get(), self.key)

    def test_a_condition_that_fails_shows_the_item(self):
        self.put(v={"N": "1"})
        with self.fails("ConditionalCheckFailedException", "The conditional request failed") as it:
            self.dynamodb.put_item(
                TableName=self.notes,
                Item=self.key,
                ConditionExpression="attribute_not_exists(pk) OR v > :v",
                ExpressionAttributeValues={":v": {"N": "1"}},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        self.assertEqual(it.response["Item"], {**self.key, "v": {"N": "1"}})
        with self.fails("ConditionalCheckFailedException") as it:
            self.dynamodb.delete_item(
                TableName=self.notes, Key=self.key, ConditionExpression="attribute_exists(w)"
            )
        self.assertNotIn("Item", it.response)

    def test_an_update_creates_and_counts(self):
        one = {":one": {"N": "1"}}
        for expected in "1", "2":
            updated = self.update(
                "ADD visits :one", ExpressionAttributeValues=one, ReturnValues="UPDATED_NEW"
            )
            self.assertEqual(updated["Attributes"], {"visits": {"N": expected}})
        old = self.update(
            "SET visits = visits - :one", ExpressionAttributeValues=one, ReturnValues="ALL_OLD"
        )
        self.assertEqual(old["Attributes"], {**self.key, "visits": {"N": "2"}})

    def test_an_update_of_every_kind(self):
        self.put(
            list={"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
            map={"M": {"a": {"N": "1"}}},
            tags={"SS": ["x", "y"]},
            gone={"BOOL": True},
        )
        # Overlapping paths may not be changed together, so one after the other.
        names = {"#l": "list"}
        self.update(
            "SET #m.b = if_not_exists(#m.b, :two), copied = #m.a REMOVE gone, #l[0] DELETE tags :x",
            ExpressionAttributeNames={**names, "#m": "map"},
            ExpressionAttributeValues={":two": {"N": "2"}, ":x": {"SS": ["x"]}},
        )
        updated = self.update(
            "SET #l = list_append(#l, :more)",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues={":more": {"L": [{"S": "end"}]}},
            ReturnValues="ALL_NEW",
        )["Attributes"]
        self.assertEqual(updated["map"], {"M": {"a": {"N": "1"}, "b": {"N": "2"}}})
        self.assertEqual(updated["list"], {"L": [{"N": "1"}, {"N": "2"}, {"S": "end"}]})
        self.assertEqual(updated["copied"], {"N": "1"})
        self.assertEqual(updated["tags"], {"SS": ["y"]})
        self.assertNotIn("gone", updated)

    def test_a_delete_returns_what_was_there(self):
        self.put(v={"N": "1"})
        deleted = self.dynamodb.delete_item(
            TableName=self.notes, Key=self.key, ReturnValues="ALL_OLD"
        )
        self.assertEqual(deleted["Attributes"]["v"], {"N": "1"})
        self.assertIsNone(self.get())
        again = self.dynamodb.delete_item(
            TableName=self.notes, Key=self.key, ReturnValues="ALL_OLD"
        )
        self.assertNotIn("Attributes", again)

    def test_consumed_capacity(self):
        self.put(text={"S": "x" * 5000})
        got = self.dynamodb.get_item(
            TableName=self.notes, Key=self.key, ReturnConsumedCapacity="TOTAL"
        )
        self.assertEqual(got["ConsumedCapacity"], {"TableName": self.notes, "CapacityUnits": 1.0})
        put = self.dynamodb.put_item(
            TableName=self.notes, Item=self.key, ReturnConsumedCapacity="INDEXES"
        )
        self.assertEqual(put["ConsumedCapacity"]["Table"], {"CapacityUnits": 5.0})

    def test_what_is_refused(self):
        with self.fails("ValidationException", "does not match the schema"):
            self.dynamodb.get_item(TableName=self.notes, Key={"pk": {"S": "ann"}})
        with self.fails("ValidationException", "Type mismatch for key sk"):
            self.dynamodb.put_item(
                TableName=self.notes, Item={"pk": {"S": "ann"}, "sk": {"S": "1"}}
            )
        with self.fails("ValidationException", "reserved keyword: status"):
            self.update("SET status = :s", ExpressionAttributeValues={":s": {"N": "1"}})
        with self.fails("ValidationException", "Cannot update attribute pk"):
            self.update("SET pk = :s", ExpressionAttributeValues={":s": {"S": "1"}})
        with self.fails("ValidationException", "Item size has exceeded the maximum allowed size"):
            self.put(text={"S": "x" * 410_000})
        with self.fails("ResourceNotFoundException", "Requested resource not found"):
            self.dynamodb.get_item(TableName="missing", Key=self.key)
