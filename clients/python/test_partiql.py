"""PartiQL: statements one by one, in batches and in transactions."""

from tables import TableTest


class Statements(TableTest):
    def setUp(self):
        super().setUp()
        self.notes = self.table()

    def run_one(self, statement, *parameters, **options):
        statement = statement.replace("NOTES", f'"{self.notes}"')
        if parameters:
            options["Parameters"] = list(parameters)
        return self.dynamodb.execute_statement(Statement=statement, **options)

    def fill(self, count):
        for sk in range(count):
            self.run_one("INSERT INTO NOTES VALUE {'pk': 'p', 'sk': ?, 'n': 1}", {"N": str(sk)})

    def test_a_life_of_an_item(self):
        self.run_one(
            "INSERT INTO NOTES VALUE {'pk': ?, 'sk': 1, 'tags': <<'a'>>, 'm': {'x': [1, 2]}}",
            {"S": "ann"},
        )
        with self.fails("DuplicateItemException"):
            self.run_one("INSERT INTO NOTES VALUE {'pk': 'ann', 'sk': 1}")
        updated = self.run_one(
            "UPDATE NOTES SET tags = set_add(tags, <<'b'>>) SET m.x[0] = 9 "
            "WHERE pk = 'ann' AND sk = 1 RETURNING ALL NEW *"
        )["Items"][0]
        self.assertCountEqual(updated["tags"]["SS"], ["a", "b"])
        self.assertEqual(updated["m"], {"M": {"x": {"L": [{"N": "9"}, {"N": "2"}]}}})
        found = self.run_one("SELECT m.x[0], pk FROM NOTES WHERE pk = 'ann' AND sk = 1")
        self.assertEqual(found["Items"], [{"x[0]": {"N": "9"}, "pk": {"S": "ann"}}])
        with self.fails("ConditionalCheckFailedException"):
            self.run_one("UPDATE NOTES SET n = 1 WHERE pk = 'ann' AND sk = 1 AND n = 7")
        deleted = self.run_one(
            "DELETE FROM NOTES WHERE pk = 'ann' AND sk = 1 RETURNING ALL OLD *"
        )
        self.assertEqual(deleted["Items"][0]["pk"], {"S": "ann"})

    def test_pages(self):
        self.fill(7)
        query = "SELECT sk FROM NOTES WHERE pk = 'p' ORDER BY sk DESC"
        found, token = [], {}
        while True:
            page = self.run_one(query, Limit=3, **token)
            found += [int(item["sk"]["N"]) for item in page["Items"]]
            if "NextToken" not in page:
                break
            token = {"NextToken": page["NextToken"]}
        self.assertEqual(found, [6, 5, 4, 3, 2, 1, 0])
        with self.fails("ValidationException", "NextToken does not match request"):
            self.run_one("SELECT * FROM NOTES", **token)

    def test_a_batch_and_a_transaction(self):
        self.fill(3)
        table = f'"{self.notes}"'
        read = f"SELECT n FROM {table} WHERE pk = 'p' AND sk = "
        answered = self.dynamodb.batch_execute_statement(
            Statements=[{"Statement": read + "0"}, {"Statement": f"SELECT * FROM {table}"}]
        )["Responses"]
        self.assertEqual(answered[0]["Item"], {"n": {"N": "1"}})
        self.assertEqual(answered[1]["Error"]["Code"], "ValidationError")
        add = f"UPDATE {table} SET n = n + 1 WHERE pk = 'p' AND sk = "
        exists = f"EXISTS(SELECT * FROM {table} WHERE pk = 'p' AND sk = 2 AND n = ?)"
        for n, succeeds in ("1", True), ("2", False):
            statements = [
                {"Statement": add + "0"},
                {"Statement": add + "1"},
                {"Statement": exists, "Parameters": [{"N": n}]},
            ]
            if succeeds:
                self.dynamodb.execute_transaction(TransactStatements=statements)
                continue
            with self.fails("TransactionCanceledException") as refused:
                self.dynamodb.execute_transaction(TransactStatements=statements)
            codes = [reason["Code"] for reason in refused.response["CancellationReasons"]]
            self.assertEqual(codes, ["None", "None", "ConditionalCheckFailed"])
        got = self.dynamodb.execute_transaction(
            TransactStatements=[{"Statement": read + "0"}, {"Statement": read + "1"}]
        )
        self.assertEqual([it["Item"] for it in got["Responses"]], [{"n": {"N": "2"}}] * 2)
