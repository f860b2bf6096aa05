"""COMPAT.md says of every operation that the SDK knows whether it is there."""

import pathlib
import re
import unittest

import botocore.session


class Compat(unittest.TestCase):
    def test_every_operation_is_listed(self):
        compat = pathlib.Path(__file__).parents[2].joinpath("COMPAT.md").read_text()
        operations = compat.split("## Operations")[1].split("\n## ")[0]
        session = botocore.session.get_session()
        for service in "dynamodb", "dynamodbstreams":
            for name in session.get_service_model(service).operation_names:
                self.assertTrue(re.search(rf"\b{name}\b", operations), name)
