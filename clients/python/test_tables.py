"""CreateTable, DescribeTable, ListTables, DeleteTable; DescribeLimits, DescribeEndpoints."""

from tables import TableTest, schema


class Tables(TableTest):
    def test_a_table_describes_itself(self):
        name = self.table()
        table = self.dynamodb.describe_table(TableName=name)["Table"]
        self.assertEqual(table["TableStatus"], "ACTIVE")
        self.assertEqual(table["KeySchema"], schema(pk="S", sk="N")["KeySchema"])
        self.assertEqual(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        self.assertEqual(table["ItemCount"], 0)
        # An operation takes a table's ARN for its name.
        described = self.dynamodb.describe_table(TableName=table["TableArn"])
        self.assertEqual(described["Table"]["TableName"], name)

    def test_a_name_is_taken_once(self):
        name = self.table()
        with self.fails("ResourceInUseException", f"Table already exists: {name}"):
            self.dynamodb.create_table(TableName=name, **schema(pk="S"))

    def test_lists_in_pages(self):
        names = sorted(self.table() for _ in range(5))
        paginator = self.dynamodb.get_paginator("list_tables")
        pages = list(paginator.paginate(PaginationConfig={"PageSize": 2}))
        self.assertTrue(all(len(page["TableNames"]) <= 2 for page in pages))
        listed = [name for page in pages for name in page["TableNames"]]
        self.assertEqual([name for name in listed if name in names], names)

    def test_a_deleted_table_is_gone(self):
        name = self.table()
        self.dynamodb.delete_table(TableName=name)
        self.dynamodb.get_waiter("table_not_exists").wait(TableName=name)
        with self.fails("ResourceNotFoundException", f"Table: {name} not found"):
            self.dynamodb.describe_table(TableName=name)

    def test_what_is_refused(self):
        with self.fails("ValidationException", "length greater than or equal to 3"):
            self.dynamodb.create_table(TableName="ab", **schema(pk="S"))
        unused = schema(pk="S")
        unused["AttributeDefinitions"] *= 2
        with self.fails("ValidationException"):
            self.dynamodb.create_table(TableName="unused", **unused)

    def test_the_account(self):
        limits = self.dynamodb.describe_limits()
        self.assertGreaterEqual(limits["AccountMaxReadCapacityUnits"], 40_000)
        [endpoint] = self.dynamodb.describe_endpoints()["Endpoints"]
        self.assertIn(endpoint["Address"], self.dynamodb.meta.endpoint_url)

    def test_what_is_not_there_says_so(self):
        with self.fails("UnknownOperationException"):
            self.dynamodb.list_backups()
