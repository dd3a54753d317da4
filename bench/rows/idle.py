"""The time until a service is ready, and its memory after an idle minute."""

import time

from bench import web
from bench.peers import pocketbase
from bench.processes import free_port
from bench.table import Row

REST = 60
READY_WITHIN = 1
MEMORY = 40e6


class Idle:
    """The suite and PocketBase, started first and measured last."""

    def __init__(self, bench):
        self.suite = bench.suite("idle")
        # The first start runs the migrations. The second is an ordinary restart, which is measured.
        with self.suite:
            self.first = self.suite.start_every_program()
        self.running = self.suite.start_every_program()
        port = free_port()
        self.peer = pocketbase.start(bench.directory("pocketbase-idle"), port)
        self.peer_ready = self.peer.wait_until(lambda: web.responds(f"http://127.0.0.1:{port}", "/api/health"))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.peer.stop()
        return self.suite.__exit__(*exception)

    def measure(self):
        rows = []
        for name, service in self.running.items():
            time.sleep(max(0, service.program.started + REST - time.monotonic()))
            memory = service.program.pss_bytes()
            rows.append(
                Row(
                    f"idle {name}, {REST} s after its start",
                    "MB PSS",
                    memory / 1e6,
                    "PocketBase",
                    self.peer.pss_bytes() / 1e6,
                    f"≤ {MEMORY / 1e6:.0f}",
                    memory <= MEMORY,
                )
            )
        for name, service in self.running.items():
            rows.append(self._ready(f"{name} ready", service.ready_after))
            rows.append(self._ready(f"{name} ready, migrating", self.first[name].ready_after))
        return rows

    def _ready(self, work, seconds):
        target = f"≤ {READY_WITHIN}"
        return Row(work, "s", seconds, "PocketBase", self.peer_ready, target, seconds <= READY_WITHIN)
