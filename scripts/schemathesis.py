"""Sends valid and invalid requests according to the OpenAPI document to a running suite, and checks every response.

The document is the one that the suite serves: docs/openapi.yaml with the common responses.

Fails on a 5xx, on a status, content type, header or body that the document does not describe, on a route that works
without a credential, and on a route that accepts an invalid request. Run it with `scripts/schemathesis`.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "schemathesis"
PASSWORD = "correct horse battery staple"

# These operations end the session, the membership or the conversation's token that later requests need. Each has a
# separate run with a separate account.
ENDING = ["logout", "deleteAccount", "endOtherSessions", "endSession", "leaveConversation", "renewConversationToken"]

# These responses do not end.
ENDLESS = ["streamPosts", "streamHomeFeed", "streamNetworkChanges"]

# These operations call a network that the request names, and generated names do not exist.
CALLING = ["linkNetwork", "startNetworkAuthorization"]

# These operations follow the tus protocol, which has other errors (412) and ignores unknown headers. tus-journey.py
# tests them.
TUS = [
    "createResumableUpload",
    "getTusOptions",
    "getUploadOffset",
    "appendToUpload",
    "deleteUpload",
    "overrideTusMethod",
    "getTusUploadOptions",
]

# The statuses that count as a rejection of an invalid request. A text that is too long has 413, a query 414 and a
# header 431.
# A malformed challenge has 401, like a wrong one.
REFUSALS = ["400", "401", "403", "404", "405", "406", "409", "413", "414", "415", "422", "429", "431"]


class Suite:
    """A client for the setup."""

    def __init__(self, url):
        self.url = url.rstrip("/")

    def document(self):
        """The OpenAPI document, with the common responses that docs/openapi.yaml leaves out."""
        with urllib.request.urlopen(f"{self.url}/openapi.yaml", timeout=30) as response:
            return response.read()

    def call(self, method, path, body=None, jwt=None):
        headers = {"Content-Type": "application/json"}
        if jwt:
            headers["Authorization"] = f"Bearer {jwt}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}")

    def account(self):
        """Creates an account with a name, and signs in."""
        name = f"schemathesis-{secrets.token_hex(6)}"
        self.call("POST", "/auth/register", {"username": name, "password": PASSWORD, "fullName": "A Tester"})
        return {"username": name, **self.call("POST", "/auth/login", {"username": name, "password": PASSWORD})}


class Fixture:
    """A signed-in user with a device and a favourite, and a conversation of two members with a few messages."""

    def __init__(self, suite, jwt=None):
        self.me = {"jwt": jwt} if jwt else suite.account()
        self.other = suite.account()
        jwt = self.me["jwt"]
        draft = {"label": "Sunday walk", "members": [self.other["userId"]]}
        conversation = suite.call("POST", "/conversations/create", draft, jwt)
        self.token = conversation["token"]
        path = f"/conversations/{self.token}/messages"
        self.messages = [suite.call("POST", path, {"data": f"step {step}"}, jwt)["id"] for step in range(3)]
        device = {"platform": "gcm", "token": secrets.token_hex(32)}
        self.devices = [suite.call("POST", "/devices", device, jwt)["id"]]
        suite.call("PUT", "/subscriptions/pianist", {}, jwt)
        self.sessions = [session["id"] for session in suite.call("GET", "/auth/sessions", jwt=jwt)["sessions"]]

    def configuration(self):
        """Returns schemathesis.toml, which uses mostly existing ids, so that requests reach more than the first 404."""
        values_by_name = {
            "tokens": [self.token],
            "users": [self.other["userId"]],
            "messages": self.messages,
            "sessions": self.sessions,
            "devices": self.devices,
            "broadcasters": ["pianist", "Pianist"],
        }
        lines = [f'[headers]\nAuthorization = "Bearer {self.me["jwt"]}"']
        lines += [f"[dictionaries.{name}]\nvalues = {json.dumps(values)}" for name, values in values_by_name.items()]
        lines.append(f"[checks.negative_data_rejection]\nexpected-statuses = {json.dumps(REFUSALS)}")
        lines.append(f"[parameters]\n{_mostly('path.token', 'tokens')}\n{_mostly('path.userId', 'users')}")
        for operation, parameter, dictionary in (
            ("markMessageRead", "path.id", "messages"),
            ("endSession", "path.id", "sessions"),
            ("removeDevice", "path.id", "devices"),
            ("getSubscription", "path.broadcaster", "broadcasters"),
            ("updateSubscription", "path.broadcaster", "broadcasters"),
        ):
            lines.append(
                f'[[operations]]\ninclude-operation-id = "{operation}"\n'
                f"[operations.parameters]\n{_mostly(parameter, dictionary)}"
            )
        for operation in CALLING:
            lines.append(
                f'[[operations]]\ninclude-operation-id = "{operation}"\n'
                f'[operations.checks.not_a_server_error]\nexpected-statuses = ["2xx", "4xx", 503]'
            )
        return "\n\n".join(lines) + "\n"


def _mostly(parameter, dictionary):
    return f'"{parameter}" = {{ dictionary = "{dictionary}", probability = 0.8 }}'


def run(suite, fixture, folder, arguments, phases, *selection):
    configuration = Path(folder) / "schemathesis.toml"
    configuration.write_text(fixture.configuration())
    document = Path(folder) / "openapi.yaml"
    document.write_bytes(suite.document())
    command = [
        PROGRAM, "--config-file", configuration, "run", document, "--url", suite.url,
        "--phases", phases, "--max-examples", arguments.examples, "--max-time", arguments.seconds,
        "--generation-deterministic", "--continue-on-failure",
        "--request-timeout", 30, "--exclude-checks", "positive_data_acceptance", "--warnings", "off", "--no-color",
        *selection,
    ]  # fmt: skip
    return subprocess.run([str(word) for word in command], cwd=folder, timeout=3 * arguments.seconds).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", nargs="?", default=os.environ.get("BASE_URL", "http://127.0.0.1:8080"))
    parser.add_argument("--seconds", type=int, default=45, help="the time limit of the main run (45)")
    parser.add_argument("--examples", type=int, default=20, help="generated requests per route (20)")
    arguments = parser.parse_args()
    suite = Suite(arguments.url)

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        excluded = ENDING + ENDLESS + TUS
        excluded = [word for operation in excluded for word in ("--exclude-operation-id", operation)]
        fixture = Fixture(suite, os.environ.get("JWT"))
        failed = run(suite, fixture, folder, arguments, "examples,coverage,fuzzing", *excluded)
        for operation in ENDING:
            alone = ["--include-operation-id", operation]
            failed |= run(suite, Fixture(suite), folder, arguments, "examples,coverage", *alone)
    print(f"schemathesis: {'FAILED' if failed else 'passed'} in {time.monotonic() - began:.0f} s")
    sys.exit(1 if failed else 0)


main()
