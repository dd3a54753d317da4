"""Password logins and refreshed sessions: ours on its hashing threads beside PocketBase on as many cores.

Ours is Argon2id at 19 MiB, PocketBase's bcrypt at cost 10. A login is its hash and little else, so what counts is how
many a core does. Few connections, so that few logins are under way, and not counted, when the load ends.

Sessions are refreshed one after another, each by the token that the one before gave. Ours writes each down, and takes a
token once; PocketBase signs a new token beside the old one, which stays good, and writes nothing.
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
        settings = {"BENCH_TOKEN": web.Client(auth.url).post("/auth/login", login)["refreshToken"]}
        refreshed = _refresh(auth.program, f"{auth.url}/auth/refresh", bench.seconds, "refresh.lua", settings)
    port = free_port()
    with pocketbase.start(bench.directory("pocketbase"), port) as program:
        url = f"http://127.0.0.1:{port}"
        program.wait_until(lambda: web.answers(url, "/api/health"))
        login = {"identity": pocketbase.EMAIL, "password": pocketbase.PASSWORD}
        theirs = _load(program, url, pocketbase.LOGIN, login, seconds)
        token = web.Client(url).post(pocketbase.LOGIN, login)["token"]
        settings, headers = {"BENCH_BODY": "{}"}, [f"Authorization: {token}"]
        signed = _refresh(program, url + pocketbase.REFRESH, bench.seconds, "post.lua", settings, headers)
    # As many as auth hashes on unless told otherwise.
    ours["rate"] /= max(1, os.cpu_count() // 2)
    what = "password login"
    return [
        Row(what, "logins/s a core", ours["rate"], "PocketBase", theirs["rate"], f"≥ {TARGET}", ours["rate"] >= TARGET),
        Row(what, "ms CPU each", ours["cpu"], "PocketBase", theirs["cpu"]),
        Row("refresh", "p50, ms", refreshed["p50"], "PocketBase, unwritten", signed["p50"]),
        Row("refresh", "ms CPU each", refreshed["cpu"], "PocketBase, unwritten", signed["cpu"]),
    ]


def _load(program, url, path, login, seconds):
    web.Client(url).post(path, login)
    before = program.cpu_seconds()
    load = wrk.run(url + path, CONNECTIONS, seconds, script="post.lua", settings={"BENCH_BODY": json.dumps(login)})
    return {"rate": load.rate, "cpu": (program.cpu_seconds() - before) * 1e3 / load.requests}


def _refresh(program, url, seconds, script, settings, headers=()):
    before = program.cpu_seconds()
    load = wrk.run(url, 1, seconds, headers, script, settings)
    return {"p50": load.p50, "cpu": (program.cpu_seconds() - before) * 1e3 / load.requests}
