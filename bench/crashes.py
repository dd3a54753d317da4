"""`python3 -m bench.crashes`: each service of a running suite traps again and again under load.

Prints how long it takes until the process is gone and until a request is answered again, the longest that a request
had to wait meanwhile, and whether everything that was acknowledged is there. The trap is a real one: an instruction
that does not exist, written over the function in which every event loop waits. So it needs the right to write to the
memory of a process of one's own (`/proc/<pid>/mem`), on x86-64.
"""

import argparse
import ctypes
import http.client
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench import web
from bench.processes import Program, free_port, libc

ROOT = Path(__file__).resolve().parents[1]
PROBES = {
    "auth": "/auth/me",
    "conversations": "/conversations",
    "photos": "/photos/home",
    "push": "/devices",
    "social": "/networks",
    "gateway": "/auth/me",
}
SENDERS = 8
# `roost up` takes a process that has run for 10 s to be well, and starts it again at once.
TRIAL = 10.5
# Of the issue: requests are answered again within so many seconds.
TARGET = 3.0


def main():
    parser = argparse.ArgumentParser(prog="bench.crashes", description=__doc__.splitlines()[0])
    parser.add_argument("--crashes", type=int, default=10, help="of each service (10)")
    parser.add_argument("--binaries", type=Path, default=ROOT / ".build/release", help="where our executables are")
    arguments = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="roost-crashes-", dir="/var/tmp"))
    home.chmod(0o755)
    try:
        failed = _run(arguments, home)
    finally:
        # Root's database is outside of the checkout (docs/operations.md).
        data = home / ".roost/postgres"
        shutil.rmtree(data.resolve(), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(1 if failed else 0)


def _run(arguments, home):
    gateway = free_port()
    ports = {f"{name.upper()}_URL": f"http://127.0.0.1:{free_port()}" for name in PROBES if name != "gateway"}
    off = dict.fromkeys(["RATE_USER", "RATE_ADDRESS", "RATE_REGISTER", "CONNECTION_LIMIT_ADDRESS", "SANDBOX"], "0")
    environment = {**ports, **off, "PORT": str(gateway), "MANAGEMENT_PORT": str(free_port()), "LOG_LEVEL": "error"}
    url = f"http://127.0.0.1:{gateway}"
    command = [arguments.binaries.resolve() / "roost", "up", "--directory", home]
    with Program("roost", command, home, environment) as roost:
        roost.wait_until(lambda: "Roost is ready" in roost.log.read_text(errors="replace"), seconds=120)
        user = web.Client(url).post("/auth/anonymous", {})
        client = web.Client(url, user["jwt"])
        token = client.post("/conversations/create", {"label": "crashes"})["token"]
        load = Load(url, user["jwt"], token)
        rows = {name: [] for name in PROBES}
        for _ in range(arguments.crashes):
            for name, path in PROBES.items():
                rows[name].append(_crash(home, url, user["jwt"], name, path))
        load.stop()
        print("| service | crashes | gone, s: mean, most | answers again, s: mean, most | longest request, s |")
        print("| --- | --- | --- | --- | --- |")
        for name, found in rows.items():
            gone, back, wait = zip(*found, strict=True)
            cells = [f"{sum(of) / len(of):.2f}, {max(of):.2f}" for of in (gone, back)]
            print(f"| {name} | {len(found)} | {cells[0]} | {cells[1]} | {max(wait):.2f} |")
        lost = load.lost(web.Client(url, user["jwt"]))
        print(f"\n{len(load.acknowledged)} messages acknowledged, {load.failures} tries failed, {len(lost)} lost")
        slow = [name for name, found in rows.items() if max(back for _, back, _ in found) > TARGET]
        if slow:
            print(f"answered later than after {TARGET:.0f} s: {', '.join(slow)}")
        return bool(lost or slow)


def _crash(home, url, jwt, name, path):
    """Seconds until the process is gone, until a request is answered again, and of the longest request meanwhile."""
    pid = _process(home, name)
    while time.time() - os.stat(f"/proc/{pid}").st_ctime < TRIAL or not _answer(url, path, jwt):
        time.sleep(0.1)
    began = time.monotonic()
    trap(pid)
    gone, longest = None, 0.0
    while time.monotonic() - began < 60:
        asked = time.monotonic()
        if gone is None and not _lives(pid):
            gone = asked - began
        is_answered = _answer(url, path, jwt)
        longest = max(longest, time.monotonic() - asked)
        if gone is not None and is_answered:
            return gone, time.monotonic() - began, longest
        time.sleep(0.01)
    raise RuntimeError(f"{name} does not answer a minute after its trap")


def _process(home, name):
    notes = json.loads((home / ".roost/processes.json").read_text())
    return next(note["process"]["pid"] for note in notes if note["name"] == name)


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _answer(url, path, jwt):
    """Whether one request over a connection of its own is answered with 200."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=40)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {jwt}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def trap(pid):
    """Has the process execute an instruction that does not exist at the next turn of one of its event loops."""
    own = ctypes.cast(libc.epoll_wait, ctypes.c_void_p).value
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(own - _libc_base("self") + _libc_base(pid))
        memory.write(b"\x0f\x0b")


def _libc_base(pid):
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[5].endswith("/libc.so.6") and int(fields[2], 16) == 0:
            return int(fields[0].split("-")[0], 16)
    raise RuntimeError(f"process {pid} has no libc.so.6")


class Load:
    """Senders that send each message again, under the same name, until it is acknowledged."""

    def __init__(self, url, jwt, token):
        self.url, self.jwt, self.token = url, jwt, token
        self.acknowledged = {}
        self.failures = 0
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(number,), daemon=True) for number in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _send(self, sender):
        client, number = web.Client(self.url, self.jwt), 0
        while not self._is_over.is_set():
            number += 1
            name = f"{sender}-{number}"
            while True:
                try:
                    message = client.post(
                        f"/conversations/{self.token}/messages", {"data": name, "clientMessageId": name}
                    )
                    break
                except (OSError, http.client.HTTPException, web.Refused):
                    client = web.Client(self.url, self.jwt)
                    with self._lock:
                        self.failures += 1
                    time.sleep(0.05)
            with self._lock:
                self.acknowledged[name] = message["seq"]
            time.sleep(0.02)

    def lost(self, client):
        """What was acknowledged and is not there as it was acknowledged."""
        found, after = {}, 0
        while True:
            page = client.get(f"/conversations/{self.token}/messages?afterSeq={after}&count=100")
            messages = page["messages"] if isinstance(page, dict) and "messages" in page else page
            if not messages:
                return [name for name, seq in self.acknowledged.items() if found.get(name) != seq]
            found.update({message["clientMessageId"]: message["seq"] for message in messages})
            after = max(message["seq"] for message in messages)


if __name__ == "__main__":
    main()
