"""A file of 20 MB through the gateway: the rate until it is on disk, and the memory growth of the processes.

nginx receives the same file by PUT. Roost flushes each file before it responds (fsync), and nginx leaves that to the
kernel. nginx's rate is therefore the machine's limit, not a target.
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

        # A warm-up: memory that a process keeps after the first uploads does not count.
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
        Row(f"{name} growth during 20 MB", "MB RSS", value / 1e6, "", None, "≤ 5", value <= GROWTH)
        for name, value in grown.items()
    ]


def _send(method, url, path, body, headers):
    """Returns the seconds until the response."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    began = time.monotonic()
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    if response.status not in (200, 201):
        raise web.Refused(f"{method} {path}: {response.status} {text[:300]!r}")
    return time.monotonic() - began
