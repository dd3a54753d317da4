"""A file of 20 MB through the gateway: how fast it is on disk, and how much memory it takes on its way.

nginx takes the same file by PUT beside it. We bring each file to disk before we answer (fsync), nginx leaves it to the
kernel; so its rate is what the machine gives, not what we should reach.
"""

import http.client
import os
import time
from statistics import median
from urllib.parse import urlsplit

from bench import web
from bench.peers import nginx
from bench.processes import free_port
from bench.table import Row

SIZE = 20 * 1024 * 1024
ROUNDS = 8
GROWTH = 5 * 1024 * 1024


def measure(bench):
    body = os.urandom(SIZE)
    port = free_port()
    with bench.suite("uploads") as suite, nginx.store(bench.directory("nginx-store"), port) as peer:
        peer.wait_until(lambda: web.listens(port))
        _, conversations, gateway = suite.start_all()
        jwt = suite.sign_in(gateway.url)
        token = web.Client(gateway.url, jwt).post("/conversations/create", {"label": "files"})["token"]
        path = f"/conversations/{token}/messages"
        headers = {"Authorization": f"Bearer {jwt}", "Content-Type": "application/octet-stream"}

        def ours():
            return _send("POST", gateway.url, path, body, headers)

        def theirs():
            return _send("PUT", f"http://127.0.0.1:{port}", f"/{time.monotonic_ns()}", body, {})

        # What a process holds once it has done it before is not what a file takes.
        for _ in range(2):
            ours(), theirs()
        grown = {name: 0 for name in ("conversations", "gateway")}
        seconds = {ours: [], theirs: []}
        for _ in range(ROUNDS):
            before = {"conversations": conversations.program.reset_peak(), "gateway": gateway.program.reset_peak()}
            seconds[ours].append(ours())
            for name, service in (("conversations", conversations), ("gateway", gateway)):
                grown[name] = max(grown[name], service.program.peak_bytes() - before[name])
            seconds[theirs].append(theirs())
    return [
        Row(
            "upload of 20 MB, on disk",
            "MB/s",
            SIZE / 1e6 / median(seconds[ours]),
            "nginx PUT, no fsync",
            SIZE / 1e6 / median(seconds[theirs]),
        )
    ] + [
        Row(f"{name} grows while 20 MB pass", "MB RSS", value / 1e6, "", None, "≤ 5", value <= GROWTH)
        for name, value in grown.items()
    ]


def _send(method, url, path, body, headers):
    """Seconds until it is answered."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    began = time.monotonic()
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status not in (200, 201):
        raise web.Refused(f"{method} {path}: {answer.status} {text[:300]!r}")
    return time.monotonic() - began
