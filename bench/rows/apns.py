"""Notifications per second from push's client to APNs, beside h2load with the same requests.

APNs is the sandbox, over HTTP/2 and TLS on the same cores. h2load sends the same bytes repeatedly and only counts the
responses. The client encodes each notification's JSON, applies a deadline, and reads each response.
"""

import json
import subprocess
import time
from statistics import median

import jwt

from bench import h2load
from bench.sandbox import Sandbox
from bench.table import Row

ROUNDS = 3
COUNT = 60_000
CONNECTIONS = 4
IN_FLIGHT = 400
RATIO = 0.5
MESSAGE = {
    "aps": {
        "alert": {"body": "A quiet evening with the guitar and requests from the chat", "title": "erik is live"},
        "badge": 1,
        "sound": "chord.caf",
    },
    "url": "https://example.org/broadcasts/12345",
}


def measure(bench):
    directory = bench.directory("apns")
    with Sandbox(bench, directory) as sandbox:
        credentials = sandbox.credentials()
        (directory / "authority.pem").write_text(credentials["authority"])
        (directory / "key.p8").write_text(credentials["apns"]["key"])
        (directory / "message.json").write_text(json.dumps(MESSAGE, separators=(",", ":")))
        ours, theirs = [], []
        # The first round is a warm-up.
        for number in range(ROUNDS + 1):
            rates = _client(bench, credentials["apns"], directory), _h2load(bench, credentials["apns"], directory)
            if number:
                ours.append(rates[0])
                theirs.append(rates[1])
        counts = sandbox.counts()
        if counts["accepted"] < COUNT * (ROUNDS + 1):
            raise RuntimeError(f"the sandbox received {counts}")
    rate, peer = median(ours), median(theirs)
    met = rate >= RATIO * peer
    return [Row("push, delivery to APNs", "notifications/s", rate, "h2load", peer, f"≥ {RATIO} ×", met)]


def _client(bench, apns, directory):
    options = {
        "url": apns["url"],
        "authority": directory / "authority.pem",
        "key": directory / "key.p8",
        "key-id": apns["keyId"],
        "team-id": apns["teamId"],
        "topic": apns["topic"],
        "count": COUNT,
        "connections": CONNECTIONS,
        "concurrency": IN_FLIGHT,
    }
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    done = subprocess.run([bench.binaries / "push-load", *words], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"push-load: {done.stderr}")
    report = json.loads(done.stdout)
    if report["refused"]:
        raise RuntimeError(f"push-load: {report} {done.stderr}")
    return report["perSecond"]


def _h2load(bench, apns, directory):
    token = jwt.encode(
        {"iss": apns["teamId"], "iat": int(time.time())}, apns["key"], "ES256", headers={"kid": apns["keyId"]}
    )
    headers = [
        f"authorization: bearer {token}",
        f"apns-topic: {apns['topic']}",
        "apns-push-type: alert",
        "apns-priority: 10",
        "apns-collapse-id: broadcast",
    ]
    url = f"{apns['url']}/3/device/{'ab' * 32}"
    streams = IN_FLIGHT // CONNECTIONS
    body = directory / "message.json"
    return h2load.run(url, CONNECTIONS, streams, bench.seconds, directory, headers=headers, body=body).rate
