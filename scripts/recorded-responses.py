"""Extracts responses of real servers that the authors of clients recorded, one per line of JSON.

    recorded-responses.py FOLDER SOURCE.tar.gz…

Writes mastodon.jsonl and reddit.jsonl, whose lines are HTTP exchanges: {from, method, url, status, headers, body}.
Writes granary.jsonl, whose lines are values of a network's API: {from, network, body}. Bodies are the received text.
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

# The C loader is ten times as fast when it is available.
YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def exchanges(name, recorded):
    """Yields the exchanges of a cassette of vcrpy or betamax."""
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
    """Yields the networks' values among the constants of a module of granary's tests.

    Evaluates only plain data. Values that a call creates are left out, and so are granary's own conversions.
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
    print(", ".join(f"{count} of {name}" for name, count in counts.items()), "extracted")


main(sys.argv[1], sys.argv[2:])
