"""Programs that the benchmark starts, measures and stops."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def free_port():
    """Returns a TCP port of the loopback address that is currently free."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Program:
    """A child process with its log. It stops when the benchmark ends for any reason."""

    def __init__(self, name, command, directory, environment=None, user=None, stop_with=signal.SIGTERM):
        self.name = name
        self.log = Path(directory) / f"{name}.log"
        self.stop_with = stop_with
        self.started = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                cwd=directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=user,
                group=user,
                extra_groups=[] if user else None,
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, stop_with),
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(self.stop_with)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def wait_until(self, ready, seconds=20):
        """Returns the seconds from the start until `ready()` is true. Fails with the end of the log."""
        while not ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} exited during its start:\n{self.tail()}")
            if time.monotonic() - self.started > seconds:
                raise RuntimeError(f"{self.name} is not ready after {seconds} s:\n{self.tail()}")
            time.sleep(0.005)
        return time.monotonic() - self.started

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def pids(self):
        """Returns the ids of the process and all its descendants."""
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += [int(child) for child in children.read_text().split()]
        return found

    def cpu_seconds(self):
        """Returns the processor time so far, user and system, including children."""
        return sum(_cpu_ticks(pid) for pid in self.pids()) / TICKS

    def rss_bytes(self):
        return sum(_kilobytes(f"/proc/{pid}/status", "VmRSS:") for pid in self.pids()) * 1024

    def reset_peak(self):
        """Resets the peak of the resident memory, and returns its current size."""
        for pid in self.pids():
            Path(f"/proc/{pid}/clear_refs").write_text("5")
        return self.rss_bytes()

    def peak_bytes(self):
        """Returns the peak of the resident memory since `reset_peak`."""
        return sum(_kilobytes(f"/proc/{pid}/status", "VmHWM:") for pid in self.pids()) * 1024

    def pss_bytes(self):
        """Returns the proportional set size: resident memory with an equal part of shared pages."""
        return sum(_kilobytes(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in self.pids()) * 1024


def _cpu_ticks(pid):
    # The command's name is in brackets and may contain spaces, so fields are counted after the last bracket.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _kilobytes(path, key):
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    return 0
