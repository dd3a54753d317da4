"""Password logins: ours on its hashing threads beside PocketBase, both per processor second.

Ours is Argon2id at 19 MiB, PocketBase's bcrypt at cost 10. Logins hash and little else, so what counts is how many a
core does: the rate divided by the cores that were busy.
"""

import json
import os

from bench import web, wrk
from bench.peers import pocketbase
from bench.processes import free_port
from bench.suite import PASSWORD
from bench.table import Row

CONNECTIONS = 16
# A login takes tens of milliseconds, so short loads count few of them.
SECONDS = 6


def measure(bench):
    with bench.suite("logins") as suite:
        auth = suite.start_auth()
        web.Client(auth.url).post("/auth/register", {"username": "bench", "password": PASSWORD})
        ours = _load(auth.program, auth.url + "/auth/login", {"username": "bench", "password": PASSWORD}, max(bench.seconds, SECONDS))
    port = free_port()
    with pocketbase.start(bench.directory("pocketbase"), port) as program:
        url = f"http://127.0.0.1:{port}"
        program.wait_until(lambda: web.answers(url, "/api/health"))
        login = {"identity": pocketbase.EMAIL, "password": pocketbase.PASSWORD}
        theirs = _load(program, url + pocketbase.LOGIN, login, max(bench.seconds, SECONDS))
    threads = max(1, os.cpu_count() // 2)
    per_core = ours["rate"] / threads
    return [
        Row(
            "password login", "logins/s a hashing core", per_core, "PocketBase", theirs["rate"], "≥ 25", per_core >= 25
        ),
        Row("password login", "ms CPU each", ours["cpu"], "PocketBase", theirs["cpu"]),
    ]


def _load(program, url, login, seconds):
    settings = {"BENCH_BODY": json.dumps(login)}
    wrk.run(url, CONNECTIONS, 1, script="post.lua", settings=settings)
    before = program.cpu_seconds()
    load = wrk.run(url, CONNECTIONS, seconds, script="post.lua", settings=settings)
    return {"rate": load.rate, "cpu": (program.cpu_seconds() - before) * 1e3 / load.requests}
