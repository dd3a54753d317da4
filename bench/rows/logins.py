"""Password logins: ours on its hashing threads beside PocketBase on as many cores.

Ours is Argon2id at 19 MiB, PocketBase's bcrypt at cost 10. A login is its hash and little else, so what counts is how
many a core does. Few connections, so that few logins are under way, and not counted, when the load ends.
"""

import json
import os

from bench import web, wrk
from bench.peers import pocketbase
from bench.processes import free_port
from bench.suite import PASSWORD
from bench.table import Row

CONNECTIONS = 4
# A login takes tens of milliseconds: a shorter load would count few of them.
SECONDS = 6
TARGET = 25


def measure(bench):
    seconds = max(bench.seconds, SECONDS)
    with bench.suite("logins") as suite:
        auth = suite.start_auth()
        login = {"username": "bench", "password": PASSWORD}
        web.Client(auth.url).post("/auth/register", login)
        ours = _load(auth.program, auth.url, "/auth/login", login, seconds)
    port = free_port()
    with pocketbase.start(bench.directory("pocketbase"), port) as program:
        url = f"http://127.0.0.1:{port}"
        program.wait_until(lambda: web.answers(url, "/api/health"))
        login = {"identity": pocketbase.EMAIL, "password": pocketbase.PASSWORD}
        theirs = _load(program, url, pocketbase.LOGIN, login, seconds)
    # As many as auth hashes on unless told otherwise.
    ours["rate"] /= max(1, os.cpu_count() // 2)
    what = "password login"
    return [
        Row(what, "logins/s a core", ours["rate"], "PocketBase", theirs["rate"], f"≥ {TARGET}", ours["rate"] >= TARGET),
        Row(what, "ms CPU each", ours["cpu"], "PocketBase", theirs["cpu"]),
    ]


def _load(program, url, path, login, seconds):
    web.Client(url).post(path, login)
    before = program.cpu_seconds()
    load = wrk.run(url + path, CONNECTIONS, seconds, script="post.lua", settings={"BENCH_BODY": json.dumps(login)})
    return {"rate": load.rate, "cpu": (program.cpu_seconds() - before) * 1e3 / load.requests}
