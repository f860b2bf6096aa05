"""Query and Scan: conditions on keys, pages, indexes, segments."""

from tables import TableTest, schema


def number(value):
    return {"N": str(value)}


class Queries(TableTest):
    """A partition `p` of 30 rows; every third is open, and only those stand in the index."""

    def setUp(self):
        super().setUp()
        definition = schema(pk="S", sk="N")
        definition["AttributeDefinitions"] += [
            {"AttributeName": "open", "AttributeType": "S"},
            {"AttributeName": "due", "AttributeType": "N"},
        ]
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]}
        definition["GlobalSecondaryIndexes"] = [
            {
                "IndexName": "by-open",
                "KeySchema": [
                    {"AttributeName": "open", "KeyType": "HASH"},
                    {"AttributeName": "due", "KeyType": "RANGE"},
                ],
                "Projection": projection,
            }
        ]
        definition["LocalSecondaryIndexes"] = [
            {
                "IndexName": "by-due",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "due", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ]
        self.tasks = self.table(**definition)
        for sk in range(30):
            row = {"pk": {"S": "p"}, "sk": number(sk), "title": {"S": f"t{sk}"}, "body": {"S": "b"}}
            if sk % 3 == 0:
                row |= {"open": {"S": "yes"}, "due": number(100 - sk)}
            self.dynamodb.put_item(TableName=self.tasks, Item=row)

    def pages(self, operation, **parameters):
        paginator = self.dynamodb.get_paginator(operation)
        return list(paginator.paginate(TableName=self.tasks, **parameters))

    def sorts(self, pages):
        return [int(item["sk"]["N"]) for page in pages for item in page["Items"]]

    def query(self, condition, **parameters):
        values = {":p": {"S": "p"}, **parameters.pop("values", {})}
        return self.pages(
            "query",
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            **parameters,
        )

    def test_a_partition_in_pages(self):
        pages = self.query("pk = :p", PaginationConfig={"PageSize": 7})
        self.assertEqual([page["Count"] for page in pages], [7, 7, 7, 7, 2])
        self.assertEqual(self.sorts(pages), list(range(30)))
        self.assertEqual(pages[0]["LastEvaluatedKey"], {"pk": {"S": "p"}, "sk": {"N": "6"}})
        self.assertNotIn("LastEvaluatedKey", pages[-1])

    def test_backwards(self):
        pages = self.query("pk = :p", ScanIndexForward=False, PaginationConfig={"PageSize": 11})
        self.assertEqual(self.sorts(pages), list(reversed(range(30))))

    def test_ranges_of_sort_keys(self):
        four, six = {":a": number(4)}, {":a": number(4), ":b": number(6)}
        for condition, values, expected in [
            ("sk = :a", four, [4]),
            ("sk < :a", four, [0, 1, 2, 3]),
            ("sk <= :a", four, [0, 1, 2, 3, 4]),
            ("sk BETWEEN :a AND :b", six, [4, 5, 6]),
        ]:
            with self.subTest(condition):
                pages = self.query(f"pk = :p AND {condition}", values=values)
                self.assertEqual(self.sorts(pages), expected)

    def test_a_filter_counts_what_it_skips(self):
        pages = self.query(
            "pk = :p", FilterExpression="title = :t", values={":t": {"S": "t9"}}
        )
        self.assertEqual([(page["Count"], page["ScannedCount"]) for page in pages], [(1, 30)])

    def test_a_projection_and_a_count(self):
        pages = self.query(
            "pk = :p",
            ProjectionExpression="#t",
            ExpressionAttributeNames={"#t": "title"},
            PaginationConfig={"MaxItems": 2},
        )
        self.assertEqual(pages[0]["Items"], [{"title": {"S": "t0"}}, {"title": {"S": "t1"}}])
        counted = self.query("pk = :p", Select="COUNT")
        self.assertEqual(counted[0]["Count"], 30)
        self.assertEqual(counted[0].get("Items", []), [])

    def test_a_sparse_global_index(self):
        pages = self.pages(
            "query",
            IndexName="by-open",
            KeyConditionExpression="#o = :o AND due > :d",
            ExpressionAttributeNames={"#o": "open"},
            ExpressionAttributeValues={":o": {"S": "yes"}, ":d": number(80)},
            PaginationConfig={"PageSize": 3},
        )
        self.assertEqual(self.sorts(pages), [18, 15, 12, 9, 6, 3, 0])
        self.assertEqual(set(pages[0]["LastEvaluatedKey"]), {"pk", "sk", "open", "due"})
        self.assertEqual(set(pages[0]["Items"][0]), {"pk", "sk", "open", "due", "title"})
        with self.fails("ValidationException", "Consistent reads are not supported"):
            self.query(
                "#o = :p",
                ExpressionAttributeNames={"#o": "open"},
                IndexName="by-open",
                ConsistentRead=True,
            )

    def test_a_local_index_reads_the_table(self):
        pages = self.query("pk = :p", IndexName="by-due", ConsistentRead=True)
        self.assertEqual(self.sorts(pages), list(range(27, -1, -3)))
        self.assertEqual(set(pages[0]["Items"][0]), {"pk", "sk", "due"})
        whole = self.query("pk = :p", IndexName="by-due", Select="ALL_ATTRIBUTES")
        self.assertEqual(whole[0]["Items"][0]["body"], {"S": "b"})

    def test_a_scan_in_pages_and_segments(self):
        pages = self.pages("scan", PaginationConfig={"PageSize": 4})
        self.assertCountEqual(self.sorts(pages), range(30))
        segments = [self.sorts(self.pages("scan", Segment=it, TotalSegments=3)) for it in range(3)]
        self.assertCountEqual(sum(segments, []), range(30))
        self.assertCountEqual(self.sorts(self.pages("scan", IndexName="by-open")), range(0, 30, 3))

    def test_a_page_ends_at_a_megabyte(self):
        for sk in range(100, 104):
            self.dynamodb.put_item(
                TableName=self.tasks,
                Item={"pk": {"S": "large"}, "sk": number(sk), "text": {"S": "x" * 399_000}},
            )
        pages = self.pages(
            "query",
            KeyConditionExpression="pk = :l",
            ExpressionAttributeValues={":l": {"S": "large"}},
        )
        self.assertEqual([page["Count"] for page in pages], [3, 1])

    def test_what_is_refused(self):
        with self.fails("ValidationException", "Query condition missed key schema element: pk"):
            self.query("sk = :p")
        with self.fails("ValidationException", "Invalid operator used in KeyConditionExpression: <>"):
            self.query("pk = :p AND sk <> :p")
        with self.fails("ValidationException", "does not have the specified index"):
            self.query("pk = :p", IndexName="missing")
        with self.fails("ValidationException", "unused in expressions: keys: {:x}"):
            self.query("pk = :p", values={":x": {"S": ""}})
