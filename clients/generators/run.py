"""Gives OpenAPI documents to generators of clients, and carries out one call of each kind with them.

    run.py MODULES FOLDER URL

MODULES has the packages of Node.js. FOLDER has documents/DESIGN.json, and calls.json: for each design
and operation the token of somebody who may and values of items that are there, once for each of the
clients that call: {"stories": {"orval": {"Story.get": {"token": "…", "path": {…}, …}}, "python": …}}.
"""

import importlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path(sys.executable).parent
METHODS = ("get", "post", "put", "patch", "delete")


def main():
    modules, folder, url = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    documents = {path.stem: json.loads(path.read_text()) for path in sorted((folder / "documents").iterdir())}
    # Node.js looks for packages beside the program that imports them.
    for program in HERE.glob("*.js"):
        shutil.copy(program, folder)
    shutil.copy(HERE / "package.json", folder)
    (folder / "node_modules").symlink_to(modules)
    run(folder, "node", "generate.js", folder)
    for design, document in documents.items():
        generate(folder, design, document)
    calls = json.loads((folder / "calls.json").read_text())
    for design, clients in calls.items():
        told = {operation["operationId"]: operation for operation in operations(documents[design])}
        give(folder, design, told, clients["orval"])
        run(folder, "node", "call.js", folder, design, url)
        call(design, told, clients["python"], url)


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{command}:\n{done.stdout}")
    return done.stdout


def operations(document):
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield methods[method] | {"path": path}


def generate(folder, design, document):
    """Makes clients and models in Python; none may leave anything out."""
    sys.path[:0] = [] if str(folder) in sys.path else [str(folder)]
    file = folder / "documents" / f"{design}.json"
    (folder / "python.yml").write_text("post_hooks: []\n")
    said = run(
        folder, BIN / "openapi-python-client", "generate", "--path", file, "--output-path", folder / f"python_{design}",
        "--meta=none", "--config", folder / "python.yml",
    )
    made = [path for path in (folder / f"python_{design}" / "api").glob("*/*.py") if path.name != "__init__.py"]
    promised = sum(1 for _ in operations(document))
    if "WARNING" in said or len(made) != promised:
        sys.exit(f"{design}: openapi-python-client makes {len(made)} of {promised} operations:\n{said}")
    run(
        folder, BIN / "datamodel-codegen", "--input", file, "--input-file-type=openapi",
        "--output", folder / f"models_{design}.py", "--output-model-type=pydantic_v2.BaseModel", "--formatters=builtin",
    )
    models = importlib.import_module(f"models_{design}")
    missing = [name for name in document["components"]["schemas"] if not hasattr(models, model_name(name))]
    if missing:
        sys.exit(f"{design}: datamodel-code-generator leaves out {missing}")


def model_name(schema):
    return "".join(part[0].upper() + part[1:] for part in re.split("[^A-Za-z0-9_]", schema))


def give(folder, design, told, calls):
    """Puts the values of each call in the order in which the functions of orval take them."""
    ordered = {}
    for name, one in calls.items():
        path = [one["path"][hole] for hole in re.findall(r"\{(\w+)\}", told[name]["path"])]
        takes = any(parameter.get("in") == "query" for parameter in told[name].get("parameters", []))
        body = one["body"] if "requestBody" in told[name] else None
        ordered[name] = {"token": one["token"], "path": path, "query": one["query"] if takes else None, "body": body}
    target = folder / "calls" / "orval"
    target.mkdir(parents=True, exist_ok=True)
    (target / f"{design}.json").write_text(json.dumps(ordered))


def call(design, told, calls, url):
    """Carries out operations with the client in Python, and holds the answers against the models."""
    client = importlib.import_module(f"python_{design}")
    models = importlib.import_module(f"python_{design}.models")
    for name, one in calls.items():
        operation = told[name]
        module = importlib.import_module(f"python_{design}.api.{snake(operation['tags'][0])}.{snake(name)}")
        given = {snake(key): value for key, value in (one["path"] | one["query"]).items()}
        content = operation.get("requestBody", {}).get("content", {})
        if content:
            schema = content["application/json"]["schema"]
            body = schema["$ref"].rpartition("/")[2] if "$ref" in schema else f"{pascal(name)}Body"
            given["body"] = getattr(models, pascal(body)).from_dict(one["body"] or {})
        sender = client.AuthenticatedClient(base_url=f"{url}/{design}", token=one["token"])
        answer = module.sync_detailed(client=sender, **given)
        if answer.status_code >= 300:
            sys.exit(f"{design} {name}: {answer}")
        answered = operation["responses"][str(int(answer.status_code))]
        schema = answered.get("content", {}).get("application/json", {}).get("schema", {})
        if "$ref" in schema:
            model = getattr(importlib.import_module(f"models_{design}"), model_name(schema["$ref"].rpartition("/")[2]))
            model.model_validate_json(answer.content)


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace(".", "_").replace("-", "_").lower()


def pascal(name):
    return "".join(part[0].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]", name))


if __name__ == "__main__":
    main()
