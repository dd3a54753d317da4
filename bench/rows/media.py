"""Reads of an image at /media: whole, a range, and not modified (304), beside nginx with the same file.

The load is 64 connections from one wrk thread, directly to photos and to nginx with one worker. The rounds alternate,
and their median counts. Photos reads a key from the database once and checks it again every second, because it must not
serve deleted files. nginx checks its file system.
"""

import json
import os
import struct
import urllib.request
import zlib
from contextlib import ExitStack
from statistics import median

from bench import web, wrk
from bench.peers import nginx
from bench.processes import free_port
from bench.table import Row

CONNECTIONS = 64
ROUNDS = 3
SIDE = 640
TARGET = 0.5


def measure(bench):
    with ExitStack() as stack:
        suite = stack.enter_context(bench.suite("media"))
        auth = suite.start_auth()
        photos = suite.start_photos()
        image = _fetch(_upload(photos.url, suite.sign_in(auth.url)))
        port = free_port()
        directory = bench.directory("nginx-media")
        peer = stack.enter_context(nginx.files(directory, port))
        (directory / "files" / "image").write_bytes(image.body)
        peer.wait_until(lambda: web.listens(port))
        same = _fetch(f"http://127.0.0.1:{port}/image")
        assert same.body == image.body
        programs = {"ours": (photos.program, image), "nginx": (peer, same)}
        work = {
            f"image of {len(image.body) // 1000} kB": lambda _: [],
            "range of 64 kB": lambda _: ["Range: bytes=0-65535"],
            "not modified (304)": lambda fetched: [f"If-None-Match: {fetched.tag}"],
        }
        rows = []
        for name, headers in work.items():
            figures = {key: [] for key in programs}
            for _ in range(ROUNDS):
                for key, (program, fetched) in programs.items():
                    figures[key].append(_round(program, fetched.url, headers(fetched), bench.seconds))
            rates, costs = ({key: median(f[i] for f in figures[key]) for key in programs} for i in (0, 1))
            ratio = rates["ours"] / rates["nginx"]
            target = (f"≥ {TARGET} ×", ratio >= TARGET)
            rows.append(Row(f"/media, {name}", "requests/s", rates["ours"], "nginx", rates["nginx"], *target))
            rows.append(Row(f"/media, {name}", "µs CPU", costs["ours"], "nginx", costs["nginx"]))
    return rows


class Fetched:
    """The content at a URL."""

    def __init__(self, url, body, tag):
        self.url, self.body, self.tag = url, body, tag


def _fetch(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return Fetched(url, response.read(), response.headers["ETag"])


def _round(program, url, headers, seconds):
    before = program.cpu_seconds()
    load = wrk.run(url, CONNECTIONS, seconds, headers)
    return load.requests / load.seconds, (program.cpu_seconds() - before) * 1e6 / load.requests


def _upload(url, jwt):
    """Uploads an image, and returns the URL of the large version at the service itself."""
    headers = {"Authorization": f"Bearer {jwt}", "Content-Type": "image/png"}
    request = urllib.request.Request(f"{url}/photos/uploads", _noise(SIDE), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        path = json.loads(response.read())["url"].partition("/media/")[2]
    return f"{url}/media/{path}"


def _noise(side):
    """Returns a PNG of noise, which cannot be compressed."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = b"".join(b"\0" + os.urandom(side * 3) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
