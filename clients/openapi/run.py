"""Holds a served design against its OpenAPI document.

The document is validated by itself; then Schemathesis sends requests that fit it and requests that
do not, with all its checks, and every operation that may succeed must have succeeded once.

PARTITA_URL      where the design is served: http://127.0.0.1:8000/stories
PARTITA_CALLS    a JSON file: for each operation the token of somebody who may, and values of items that
                 are there: {"Story.get": {"token": "…", "path": {…}, "query": {…}, "body": {…}}}
PARTITA_REFUSED  the operations that nobody may do, as paths of an OpenAPI document
PARTITA_SEED     where randomness starts; 1 by default
PARTITA_PHASES   what is sent: examples,coverage by default; fuzzing and stateful are the others
PARTITA_EXAMPLES random requests for each operation, where there is fuzzing; 100 by default
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator, validate

HERE = pathlib.Path(__file__).parent
METHODS = ("get", "post", "put", "patch", "delete")

CONFIGURATION = """
[checks.positive_data_acceptance]
# A schema cannot say which items are there, what they are like, and what one attribute has to do with
# another: beside what Schemathesis expects, 412 and 422 tell of that. `hooks.py` looks at each 422.
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "412", "422", "429"]

[checks.negative_data_rejection]
# Whether a condition holds is looked at before the body is.
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "412", "415", "422", "428", "429"]

# Answers have new names and times in them each time. Without those, a run can be repeated.
[phases]
examples.extra-data-sources.responses = false
coverage.extra-data-sources.responses = false
fuzzing.extra-data-sources.responses = false
"""


def main():
    url = os.environ["PARTITA_URL"]
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        document = json.load(answer)
    validate(document, cls=OpenAPIV31SpecValidator)
    # The published document leaves out what nobody may do. That is answered all the same.
    for path, refused in json.loads(os.environ.get("PARTITA_REFUSED", "{}")).items():
        document["paths"].setdefault(path, {}).update(refused)
    for parameter in document["components"]["parameters"].values():
        give_choice(parameter["schema"])
    calls = json.loads(pathlib.Path(os.environ["PARTITA_CALLS"]).read_text())
    for operation in operations(document):
        give_values(operation, calls[operation["operationId"]])
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run(pathlib.Path(folder), url, document))


def give_choice(schema):
    """Writes a pattern of two cases as a choice: of the pattern, Schemathesis makes empty texts."""
    cases = schema.get("pattern", "").removeprefix("^(\\*|")
    if cases != schema.get("pattern", ""):
        del schema["pattern"]
        pattern = "^" + cases.removesuffix(")$") + "$"
        schema["anyOf"] = [{"const": "*"}, {"pattern": pattern}]


def operations(document):
    for path in document["paths"].values():
        yield from (path[method] for method in METHODS if method in path)


def give_values(operation, call):
    """Replaces examples by values of items that are there."""
    for parameter in operation.get("parameters", []):
        values = call.get(parameter.get("in")) or {}
        if parameter.get("name") in values:
            value = values[parameter["name"]]
            is_number = parameter["schema"].get("type") in ("integer", "number")
            parameter["example"] = json.loads(value) if is_number else value
    contents = operation.get("requestBody", {}).get("content", {})
    if contents and call.get("body") is not None:
        contents["application/json"]["example"] = call["body"]
    if "bytes" in call:
        # Of all types the one that a URL was signed for.
        contents.clear()
        contents[call["type"]] = {"example": call["bytes"], "schema": {"type": "string"}}


def run(folder, url, document):
    (folder / "document.json").write_text(json.dumps(document))
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    report = folder / "report.ndjson"
    command = [
        str(pathlib.Path(sys.executable).parent / "schemathesis"),
        f"--config-file={folder / 'schemathesis.toml'}",
        "run",
        str(folder / "document.json"),
        f"--url={url}",
        f"--seed={os.environ.get('PARTITA_SEED', '1')}",
        f"--phases={os.environ.get('PARTITA_PHASES', 'examples,coverage')}",
        f"--max-examples={os.environ.get('PARTITA_EXAMPLES', '100')}",
        f"--report-ndjson-path={report}",
        "--generation-database=none",
        "--no-color",
        *sys.argv[1:],
    ]
    environment = os.environ | {
        "PYTHONPATH": str(HERE),
        "SCHEMATHESIS_HOOKS": "hooks",
        # The order of sets is no randomness that a seed would repeat.
        "PYTHONHASHSEED": "0",
    }
    code = subprocess.run(command, cwd=folder, env=environment).returncode
    missing = promised(document) - succeeded(report, document) - SECRET
    if missing:
        print(f"never answered with success: {', '.join(sorted(missing))}")
    return code or bool(missing)


# What takes a password, a session, an account, a mailed link or a provider: nobody can draw one. The tests of accounts carry
# these out.
SECRET = {
    f"auth.{name}"
    for name in (
        "administrator",
        "changeEmail",
        "changePassword",
        "endSession",
        "me",
        "reset",
        "returnFromProvider",
        "signIn",
        "signInAtProvider",
        "signOut",
        "unlinkProvider",
        "verifyEmail",
    )
}


def promised(document):
    """The operations that have an answer of success."""
    return {
        operation["operationId"]
        for operation in operations(document)
        if any(status.startswith("2") for status in operation["responses"])
    }


def succeeded(report, document):
    """The operations that were answered with success."""
    found = set()
    for line in report.read_text().splitlines():
        recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
        for name, interaction in recorder.get("interactions", {}).items():
            response = interaction.get("response") or {}
            if 200 <= response.get("status_code", 0) < 300:
                case = recorder["cases"][name]["value"]
                operation = document["paths"][case["path"]].get(case["method"].lower())
                if operation is not None:
                    found.add(operation["operationId"])
    return found


if __name__ == "__main__":
    main()
