"""Lays out what clients' authors have recorded of real servers, an answer a line of JSON.

    recorded-responses.py FOLDER SOURCE.tar.gz…

Writes mastodon.jsonl and reddit.jsonl, whose lines are an exchange over HTTP: {from, method, url, status, headers, body}; and
granary.jsonl, whose lines are a value of a network's API: {from, network, body}. Bodies are text, as they came.
"""

import ast
import copy
import gzip
import json
import os
import re
import sys
import tarfile

import yaml

# Ten times as fast where it is there.
YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def exchanges(name, recorded):
    """What a cassette of vcrpy or of betamax holds."""
    for interaction in recorded.get("interactions") or []:
        request, response = interaction["request"], interaction["response"]
        headers = {key.lower(): ", ".join(value) for key, value in response["headers"].items()}
        body = (response.get("body") or {}).get("string") or ""
        if isinstance(body, bytes):
            if headers.pop("content-encoding", None) == "gzip":
                body = gzip.decompress(body)
            body = body.decode("utf-8", "replace")
        yield {
            "from": name,
            "method": request["method"],
            "url": request["uri"],
            "status": response["status"]["code"],
            "headers": headers,
            "body": body,
        }


def values(name, source):
    """The networks' own values among those that a module of granary's tests begins with.

    Only plain data is evaluated; what is made by calling something is left out, and so is what granary makes of it.
    """
    plain = {"__builtins__": {"len": len}, "copy": copy}
    for statement in ast.parse(source).body:
        if not isinstance(statement, (ast.Assign, ast.Delete, ast.Expr)):
            continue
        called = {ast.unparse(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
        if not all(re.fullmatch(r"len|copy\.deepcopy|[A-Z_0-9]+\.update", call) for call in called):
            continue
        try:
            exec(compile(ast.Module([statement], []), name, "exec"), plain)
        except (NameError, KeyError, TypeError):
            continue
    for key, value in plain.items():
        if not key.isupper() or not isinstance(value, (dict, list)):
            continue
        try:
            yield {"from": f"{name}: {key}", "body": json.dumps(value, ensure_ascii=False)}
        except TypeError:
            continue


def main(folder, sources):
    counts = {}
    files = {name: open(os.path.join(folder, f"{name}.jsonl"), "w") for name in ("mastodon", "reddit", "granary")}

    def write(file, line):
        counts[file] = counts.get(file, 0) + 1
        files[file].write(json.dumps(line, ensure_ascii=False) + "\n")

    for source in sources:
        with tarfile.open(source) as archive:
            for member in archive:
                path = member.name
                if not member.isfile():
                    continue
                if re.search(r"/tests/cassettes[^/]*/.*\.yaml$", path):
                    for line in exchanges(path, yaml.load(archive.extractfile(member), YAML) or {}):
                        write("mastodon", line)
                elif re.search(r"/integration/cassettes/.*\.json$", path):
                    for line in exchanges(path, json.load(archive.extractfile(member))):
                        write("reddit", line)
                elif found := re.search(
                    r"/granary/tests/test_(bluesky|facebook|instagram|mastodon|twitter)\.py$", path
                ):
                    for line in values(path, archive.extractfile(member).read().decode()):
                        write("granary", line | {"network": found[1]})
    for file in files.values():
        file.close()
    print(", ".join(f"{count} of {name}" for name, count in counts.items()), "are laid out")


main(sys.argv[1], sys.argv[2:])
