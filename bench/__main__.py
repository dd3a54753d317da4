"""`python3 -m bench`: see README.md."""

import argparse
import importlib
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from pathlib import Path

from bench import table
from bench.postgres import Postgres
from bench.suite import Suite

KINDS = [
    "gateway",
    "tls",
    "connections",
    "sockets",
    "storms",
    "sends",
    "history",
    "search",
    "uploads",
    "feeds",
    "thumbnails",
    "media",
    "push",
    "apns",
    "networks",
    "scrolls",
    "broadcasts",
    "polls",
    "logins",
    "idle",
]
BINARIES = [
    "auth",
    "conversations",
    "photos",
    "image-worker",
    "push",
    "social",
    "gateway",
    "sandbox",
    "socketio-echo",
    "socket-load",
    "push-load",
    "image-load",
]
ROOT = Path(__file__).resolve().parents[1]


class Bench:
    """One run: its folders, the duration of a load, and its notes."""

    def __init__(self, home, binaries, seconds, postgres):
        self.home = home
        self.binaries = binaries
        self.seconds = seconds
        self.postgres = postgres
        self.notes = []

    def directory(self, name):
        made = self.home / name
        made.mkdir()
        return made

    def suite(self, name):
        return Suite(self, name)

    def note(self, title, text):
        """Adds a note below the table."""
        self.notes.append(f"### {title}\n\n{text}")


def main():
    arguments = _arguments()
    missing = [name for name in BINARIES if not (arguments.binaries / name).exists()]
    if missing:
        sys.exit(f"{', '.join(missing)} missing in {arguments.binaries}: `make bench` builds them")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    home = Path(tempfile.mkdtemp(prefix="roost-bench-", dir="/var/tmp"))
    home.chmod(0o755)
    try:
        with ExitStack() as stack:
            postgres = stack.enter_context(Postgres(home))
            _run(Bench(home, arguments.binaries, arguments.seconds, postgres), arguments.kinds, stack)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(bench, kinds, stack):
    rows, failed = [], []
    # Idle services are measured a minute after their start, so they start first and are measured last.
    idle = stack.enter_context(importlib.import_module("bench.rows.idle").Idle(bench)) if "idle" in kinds else None
    for kind in kinds:
        began = time.monotonic()
        try:
            measure = idle.measure if kind == "idle" else importlib.import_module(f"bench.rows.{kind}").measure
            rows += measure() if kind == "idle" else measure(bench)
        except Exception as error:
            traceback.print_exc()
            failed.append(f"{kind}: {error}")
        print(f"{kind}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(table.markdown(rows))
    for note in bench.notes:
        print(f"\n{note}")
    if failed:
        sys.exit("\n".join(["", "failed:"] + failed))


def _arguments():
    parser = argparse.ArgumentParser(
        prog="bench", description="Benchmarks of Roost beside its peers, measured in one run."
    )
    parser.add_argument("kinds", nargs="*", help=f"the benchmarks to run: {', '.join(KINDS)} (all)")
    parser.add_argument("--seconds", type=int, default=4, help="the duration of each load, 1 to 10 (4)")
    parser.add_argument("--binaries", type=Path, default=ROOT / ".build/release", help="the folder of the executables")
    arguments = parser.parse_args()
    if not 1 <= arguments.seconds <= 10:
        parser.error("--seconds must be 1 to 10")
    for kind in arguments.kinds:
        if kind not in KINDS:
            parser.error(f"unknown benchmark {kind}; choose from {', '.join(KINDS)}")
    arguments.kinds = arguments.kinds or KINDS
    arguments.binaries = arguments.binaries.resolve()
    return arguments


main()
