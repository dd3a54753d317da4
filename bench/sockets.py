"""Many concurrent Socket.IO clients by socket-load; see SocketLoad/."""

import json
import subprocess
import sys
from dataclasses import dataclass

from bench.load import Load


@dataclass(frozen=True)
class Measured:
    """The result of a load: latencies in milliseconds, and processor time in µs per delivery by program."""

    load: Load
    cpu: dict

    @property
    def rate(self):
        return self.load.rate


class Clients:
    """Clients that stay connected until the end of the `with` block."""

    def __init__(self, binaries, port, clients, prefix=(), **options):
        command = [*prefix, binaries / "socket-load", "--port", port, "--clients", clients]
        for name, value in options.items():
            command += [f"--{name}", value]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([str(word) for word in command], stdin=pipe, stdout=pipe, text=True)
        try:
            self._read_line()
        except Exception:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def window(self, messages, seconds, *programs):
        """Keeps `messages` in flight."""
        return self._load(f"window {messages} {seconds}", programs)

    def rate(self, messages, seconds, *programs):
        """Sends `messages` per second."""
        return self._load(f"rate {messages} {seconds}", programs)

    def _load(self, line, programs):
        before = [program.cpu_seconds() for program in programs]
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        found = json.loads(self._read_line())
        used = [program.cpu_seconds() - start for program, start in zip(programs, before, strict=True)]
        load = Load(requests=found["received"], seconds=found["seconds"], p50=found["p50"], p99=found["p99"])
        cpu = {program.name: it * 1e6 / load.requests for program, it in zip(programs, used, strict=True)}
        print(f"{self.process.args[4]}: {line}: {found} {cpu}", file=sys.stderr, flush=True)
        return Measured(load, cpu)

    def _read_line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"socket-load exited with {self.process.wait(10)}; see its message above")
        return line
