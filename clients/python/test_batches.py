"""BatchGetItem and BatchWriteItem."""

from tables import TableTest


def key(pk, sk):
    return {"pk": {"S": pk}, "sk": {"N": str(sk)}}


class Batches(TableTest):
    def setUp(self):
        super().setUp()
        self.one, self.two = self.table(), self.table()

    def write(self, table, *requests):
        return self.dynamodb.batch_write_item(RequestItems={table: list(requests)})

    def test_two_tables_at_once(self):
        puts = [{"PutRequest": {"Item": {**key("a", sk), "v": {"N": "7"}}}} for sk in range(20)]
        answer = self.dynamodb.batch_write_item(
            RequestItems={self.one: puts, self.two: puts[:5]}, ReturnConsumedCapacity="TOTAL"
        )
        self.assertEqual(answer["UnprocessedItems"], {})
        units = {it["TableName"]: it["CapacityUnits"] for it in answer["ConsumedCapacity"]}
        self.assertEqual(units, {self.one: 20.0, self.two: 5.0})

        answer = self.dynamodb.batch_get_item(
            RequestItems={
                self.one: {"Keys": [key("a", sk) for sk in range(30)], "ProjectionExpression": "v"},
                self.two: {"Keys": [key("a", 4), key("a", 5)], "ConsistentRead": True},
            }
        )
        self.assertEqual(answer["Responses"][self.one], [{"v": {"N": "7"}}] * 20)
        self.assertEqual(answer["Responses"][self.two], [{**key("a", 4), "v": {"N": "7"}}])
        self.assertEqual(answer["UnprocessedKeys"], {})

    def test_puts_and_deletes(self):
        self.write(self.one, {"PutRequest": {"Item": key("a", 1)}})
        self.write(
            self.one,
            {"DeleteRequest": {"Key": key("a", 1)}},
            {"PutRequest": {"Item": key("a", 2)}},
            {"DeleteRequest": {"Key": key("missing", 1)}},
        )
        left = self.dynamodb.scan(TableName=self.one)["Items"]
        self.assertEqual(left, [key("a", 2)])

    def test_sixteen_megabytes_and_no_more(self):
        large = {"text": {"S": "x" * 400_000}}
        for start in range(0, 50, 25):
            puts = [
                {"PutRequest": {"Item": {**key("large", sk), **large}}}
                for sk in range(start, start + 25)
            ]
            self.assertEqual(self.write(self.one, *puts)["UnprocessedItems"], {})
        wanted = {self.one: {"Keys": [key("large", sk) for sk in range(50)]}}
        found, rounds = [], 0
        while wanted:
            answer = self.dynamodb.batch_get_item(RequestItems=wanted)
            found += answer["Responses"].get(self.one, [])
            wanted = answer["UnprocessedKeys"]
            rounds += 1
        self.assertCountEqual([int(item["sk"]["N"]) for item in found], range(50))
        self.assertEqual(rounds, 2)

    def test_what_is_refused(self):
        with self.fails("ValidationException", "Provided list of item keys contains duplicates"):
            self.write(self.one, *[{"PutRequest": {"Item": key("a", 1)}}] * 2)
        with self.fails("ValidationException", "Provided list of item keys contains duplicates"):
            self.dynamodb.batch_get_item(RequestItems={self.one: {"Keys": [key("a", 1)] * 2}})
        with self.fails("ValidationException", "length less than or equal to 100"):
            keys = [key("a", sk) for sk in range(101)]
            self.dynamodb.batch_get_item(RequestItems={self.one: {"Keys": keys}})
        with self.fails("ResourceNotFoundException"):
            self.write("missing", {"PutRequest": {"Item": key("a", 1)}})
