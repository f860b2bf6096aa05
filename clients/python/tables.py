"""What the tests share: a client as anybody would make it, and tables of their own.

Where the endpoint is and which credentials it takes stands in the environment, where every AWS SDK
looks for it; so the programs here are those that would run against Amazon DynamoDB.
"""

import itertools
import unittest

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

# A test wants to see the first answer, not the tenth.
ONCE = Config(retries={"total_max_attempts": 1})

_numbers = itertools.count()


def client(service="dynamodb", **overrides):
    return boto3.client(service, config=ONCE, **overrides)


def schema(**keys):
    """A table's key, as `schema(pk="S", sk="N")`: the partition key first."""
    roles = ["HASH", "RANGE"]
    return {
        "KeySchema": [{"AttributeName": name, "KeyType": role} for name, role in zip(keys, roles)],
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in keys.items()
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }


class TableTest(unittest.TestCase):
    """A test with a client, and a way to make tables that go away with it."""

    def setUp(self):
        self.dynamodb = client()
        self.addCleanup(self.dynamodb.close)

    def table(self, **definition):
        """Creates a table under a name of its own, waits until it is there, and names it."""
        name = f"{type(self).__name__}-{next(_numbers)}"
        self.dynamodb.create_table(TableName=name, **(definition or schema(pk="S", sk="N")))
        self.dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        self.addCleanup(self.drop, name)
        return name

    def drop(self, name):
        try:
            self.dynamodb.delete_table(TableName=name)
        except self.dynamodb.exceptions.ResourceNotFoundException:
            pass  # The test has deleted it itself.

    def fails(self, code, message=None):
        """The next statements must be refused with this code, and a message that says this."""
        return _Fails(self, code, message)


class _Fails:
    def __init__(self, test, code, message):
        self.test, self.code, self.message = test, code, message
        self.response = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self.test.fail(f"{self.code} was expected, and nothing was refused")
        if not isinstance(error, ClientError):
            return False
        self.response = error.response
        self.test.assertEqual(self.code, error.response["Error"]["Code"], error)
        # The SDK's own class for it, where it has one.
        modeled = getattr(self.test.dynamodb.exceptions, self.code, None)
        if modeled is not None:
            self.test.assertIsInstance(error, modeled)
        if self.message is not None:
            self.test.assertIn(self.message, error.response["Error"]["Message"])
        return True
