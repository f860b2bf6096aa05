"""TransactWriteItems and TransactGetItems."""

import threading
import uuid

from tables import TableTest, client


class Transactions(TableTest):
    """Accounts, and money that is neither made nor lost."""

    def setUp(self):
        super().setUp()
        self.accounts = self.table()
        for name in "ann", "bob":
            self.dynamodb.put_item(
                TableName=self.accounts, Item={**self.key(name), "balance": {"N": "100"}}
            )

    def key(self, name):
        return {"pk": {"S": name}, "sk": {"N": "0"}}

    def move(self, amount, payer, payee):
        values = {":a": {"N": str(amount)}}
        withdraw = {
            "TableName": self.accounts,
            "Key": self.key(payer),
            "UpdateExpression": "SET balance = balance - :a",
            "ConditionExpression": "balance >= :a",
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        deposit = {
            "TableName": self.accounts,
            "Key": self.key(payee),
            "UpdateExpression": "SET balance = balance + :a",
            "ExpressionAttributeValues": values,
        }
        return [{"Update": withdraw}, {"Update": deposit}]

    def balances(self):
        answer = self.dynamodb.transact_get_items(
            TransactItems=[
                {"Get": {"TableName": self.accounts, "Key": self.key(name)}}
                for name in ("ann", "bob")
            ]
        )
        return [int(it["Item"]["balance"]["N"]) for it in answer["Responses"]]

    def test_all_or_nothing(self):
        self.dynamodb.transact_write_items(TransactItems=self.move(70, "ann", "bob"))
        self.assertEqual(self.balances(), [30, 170])
        with self.fails(
            "TransactionCanceledException", "specific reasons [None, ConditionalCheckFailed, None]"
        ) as it:
            check = {
                "TableName": self.accounts,
                "Key": self.key("carl"),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
            withdraw, deposit = self.move(70, "ann", "bob")
            self.dynamodb.transact_write_items(
                TransactItems=[{"ConditionCheck": check}, withdraw, deposit]
            )
        reasons = it.response["CancellationReasons"]
        self.assertEqual(
            [it["Code"] for it in reasons], ["None", "ConditionalCheckFailed", "None"]
        )
        self.assertEqual(reasons[1]["Item"]["balance"], {"N": "30"})
        self.assertEqual(reasons[1]["Message"], "The conditional request failed")
        self.assertEqual(self.balances(), [30, 170])

    def test_every_kind_of_action(self):
        self.dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": self.accounts, "Item": self.key("new")}},
                {"Delete": {"TableName": self.accounts, "Key": self.key("ann")}},
                {
                    "ConditionCheck": {
                        "TableName": self.accounts,
                        "Key": self.key("bob"),
                        "ConditionExpression": "balance = :b",
                        "ExpressionAttributeValues": {":b": {"N": "100"}},
                    }
                },
            ]
        )
        answer = self.dynamodb.transact_get_items(
            TransactItems=[
                {"Get": {"TableName": self.accounts, "Key": self.key(name)}}
                for name in ("ann", "new")
            ],
            ReturnConsumedCapacity="TOTAL",
        )
        self.assertEqual(answer["Responses"], [{}, {"Item": self.key("new")}])
        self.assertEqual(answer["ConsumedCapacity"][0]["CapacityUnits"], 4.0)

    def test_a_token_makes_a_repetition_harmless(self):
        token = str(uuid.uuid4())
        for _ in range(3):
            self.dynamodb.transact_write_items(
                TransactItems=self.move(10, "ann", "bob"), ClientRequestToken=token
            )
        self.assertEqual(self.balances(), [90, 110])
        with self.fails("IdempotentParameterMismatchException"):
            self.dynamodb.transact_write_items(
                TransactItems=self.move(11, "ann", "bob"), ClientRequestToken=token
            )

    def test_a_hundred_actions_and_no_more(self):
        def puts(count):
            item = lambda sk: {"pk": {"S": "many"}, "sk": {"N": str(sk)}}
            return [
                {"Put": {"TableName": self.accounts, "Item": item(sk)}} for sk in range(count)
            ]

        self.dynamodb.transact_write_items(TransactItems=puts(100))
        with self.fails("ValidationException", "less than or equal to 100"):
            self.dynamodb.transact_write_items(TransactItems=puts(101))

    def test_one_action_for_each_item(self):
        with self.fails("ValidationException", "cannot include multiple operations on one item"):
            self.dynamodb.transact_write_items(TransactItems=self.move(1, "ann", "ann"))

    def test_money_is_neither_made_nor_lost(self):
        def clerk(payer, payee):
            dynamodb = client()
            for _ in range(20):
                try:
                    dynamodb.transact_write_items(TransactItems=self.move(7, payer, payee))
                except dynamodb.exceptions.TransactionCanceledException:
                    pass  # The payer has no money left just now.
            dynamodb.close()

        pairs = [("ann", "bob"), ("bob", "ann")] * 2
        clerks = [threading.Thread(target=clerk, args=pair) for pair in pairs]
        for thread in clerks:
            thread.start()
        for thread in clerks:
            thread.join()
        self.assertEqual(sum(self.balances()), 200)
