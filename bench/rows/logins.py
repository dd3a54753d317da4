"""Password logins and refreshed sessions: Roost with its hashing threads beside PocketBase with as many cores.

Roost hashes with Argon2id at 19 MiB, PocketBase with bcrypt at cost 10. A login is almost only its hash, so the rate
per core counts. There are few connections, so that few logins are unfinished, and not counted, when the load ends.
Sessions are refreshed in sequence, each with the token of the previous response. Roost stores each refresh and accepts
a token once. PocketBase signs a new token without storing it, and the old token remains valid.
"""

import json
import os

from bench import web, wrk
from bench.peers import pocketbase
from bench.processes import free_port
from bench.suite import PASSWORD
from bench.table import Row

CONNECTIONS = 4
# A login takes tens of milliseconds, so a shorter load would count too few.
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
        program.wait_until(lambda: web.responds(url, "/api/health"))
        login = {"identity": pocketbase.EMAIL, "password": pocketbase.PASSWORD}
        theirs = _load(program, url, pocketbase.LOGIN, login, seconds)
        token = web.Client(url).post(pocketbase.LOGIN, login)["token"]
        settings, headers = {"BENCH_BODY": "{}"}, [f"Authorization: {token}"]
        signed = _refresh(program, url + pocketbase.REFRESH, bench.seconds, "post.lua", settings, headers)
    # The default number of auth's hashing threads.
    ours["rate"] /= max(1, os.cpu_count() // 2)
    what = "password login"
    return [
        Row(
            what, "logins/s per core", ours["rate"], "PocketBase", theirs["rate"], f"≥ {TARGET}", ours["rate"] >= TARGET
        ),
        Row(what, "ms CPU each", ours["cpu"], "PocketBase", theirs["cpu"]),
        Row("refresh", "p50, ms", refreshed["p50"], "PocketBase, not stored", signed["p50"]),
        Row("refresh", "ms CPU each", refreshed["cpu"], "PocketBase, not stored", signed["cpu"]),
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
