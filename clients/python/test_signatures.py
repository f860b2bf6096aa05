"""Who may come in: signatures, clocks, and bodies that arrive compressed."""

import datetime
import gzip
import json
import unittest.mock
import zlib

import botocore.auth
import boto3
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session

from tables import TableTest, client


class Signatures(TableTest):
    def test_another_secret_is_refused(self):
        stranger = client(aws_secret_access_key="a guess", aws_access_key_id=self.key_id())
        self.addCleanup(stranger.close)
        with self.fails("InvalidSignatureException", "signature we calculated does not match"):
            stranger.list_tables()

    def test_an_unknown_key_is_refused(self):
        stranger = client(aws_access_key_id="AKIDOFNOBODY", aws_secret_access_key="a guess")
        self.addCleanup(stranger.close)
        with self.fails("UnrecognizedClientException", "security token"):
            stranger.list_tables()

    def test_a_clock_that_is_off_is_refused(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        for minutes, message in [(-16, "Signature expired"), (16, "Signature not yet current")]:
            off = now + datetime.timedelta(minutes=minutes)
            with unittest.mock.patch.object(botocore.auth, "get_current_datetime") as clock:
                clock.side_effect = lambda remove_tzinfo=True: off.replace(tzinfo=None)
                with self.fails("InvalidSignatureException", message):
                    self.dynamodb.list_tables()
        self.dynamodb.list_tables()

    def test_compressed_bodies(self):
        for name, compress in [("gzip", gzip.compress), ("deflate", zlib.compress)]:
            with self.subTest(name):
                body = json.dumps({"Limit": 1}).encode()
                status, answer = self.send(compress(body), {"Content-Encoding": name})
                self.assertEqual(status, 200)
                self.assertIn("TableNames", answer)

    def test_a_body_that_was_changed_is_refused(self):
        status, answer = self.send(b'{"Limit":1}', {}, tamper=lambda body: b'{"Limit":2}')
        self.assertEqual(status, 400)
        self.assertTrue(answer["__type"].endswith("#InvalidSignatureException"))

    def key_id(self):
        return boto3.Session().get_credentials().access_key

    def send(self, body, headers, tamper=lambda body: body):
        """A request that botocore signs, but does not make."""
        url = self.dynamodb.meta.endpoint_url
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": "DynamoDB_20120810.ListTables",
            **headers,
        }
        request = AWSRequest("POST", url, headers, body)
        credentials = boto3.Session().get_credentials()
        botocore.auth.SigV4Auth(credentials, "dynamodb", "eu-central-1").add_auth(request)
        request.data = tamper(body)
        session = URLLib3Session()
        self.addCleanup(session.close)
        response = session.send(request.prepare())
        return response.status_code, json.loads(response.content)
