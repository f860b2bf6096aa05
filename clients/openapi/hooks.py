"""What Schemathesis cannot know of Partita: who asks, how values are spelled, what only the server makes."""

import datetime
import json
import os
import pathlib

import schemathesis
from hypothesis import strategies

CALLS = json.loads(pathlib.Path(os.environ["PARTITA_CALLS"]).read_text())

# What a schema can say. Whoever keeps to it need not hear of these.
IN_SCHEMAS = {"type", "value", "unknown", "not-given", "key-part"}

# Every time is spelled in one way, to the millisecond.
moments = strategies.datetimes(
    min_value=datetime.datetime(1970, 1, 1), max_value=datetime.datetime(2100, 1, 1)
).map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z")
schemathesis.openapi.format("date-time", moments)


@schemathesis.auth(refresh_interval=None)
class Tokens:
    """For each operation the token of somebody who may."""

    def get(self, case, context):
        return CALLS[context.operation.definition.raw["operationId"]]["token"]

    def set(self, case, data, context):
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.hook
def before_call(context, case, kwargs):
    """A cursor comes from a page before; nobody can make one up, and that is tested elsewhere."""
    if case.query:
        case.query.pop("cursor", None)
    # HTTP takes the spaces around a header's value away, and what is left may be a key.
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and key != key.strip():
        case.headers["Idempotency-Key"] = f"{key.strip()} inside"


@schemathesis.check
def schemas_say_it(context, response, case):
    """Nothing that fits its schema is refused for a reason that a schema can tell."""
    if response.status_code != 422 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    given = {*(case.path_parameters or {}), *(case.query or {})}
    if isinstance(case.body, dict):
        given.update(case.body)
    untold = [
        fault
        for fault in response.json().get("faults", [])
        if fault["rule"] in IN_SCHEMAS and fault["attribute"].split(".")[0] in given
    ]
    assert not untold, f"the schema does not say this: {untold}"
