"""wrk as the load generator, cheap enough to affect the measurement little."""

import json
import os
import subprocess
from pathlib import Path

from bench.load import Load

LUA = Path(__file__).parent / "lua"


def run(url, connections, seconds, headers=(), script="get.lua", settings=None):
    """Loads the URL from one thread. Fails unless every response is 2xx or 3xx.

    The script receives `settings` as environment variables.
    """
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(LUA / script), url]
    for header in headers:
        command += ["-H", header]
    done = subprocess.run(
        command,
        env={**os.environ, "BENCH_LUA": str(LUA), **(settings or {})},
        capture_output=True,
        text=True,
        timeout=seconds + 30,
    )
    if done.returncode != 0:
        raise RuntimeError(f"wrk: {done.stdout}{done.stderr}")
    summary = json.loads(done.stdout.rpartition("BENCH ")[2])
    if summary["failed"] or not summary["requests"]:
        raise RuntimeError(f"wrk: {summary['failed']} of {summary['requests']} requests to {url} failed\n{done.stdout}")
    return Load(
        requests=summary["requests"],
        seconds=summary["microseconds"] / 1e6,
        p50=summary["p50"] / 1e3,
        p99=summary["p99"] / 1e3,
    )
