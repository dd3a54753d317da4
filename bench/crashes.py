"""`python3 -m bench.crashes`: crashes each service of a running suite repeatedly under load.

Prints the time until the process has ended, the time until a request succeeds again, the longest request meanwhile, and
whether all acknowledged work still exists: accounts, messages, posts, notifications, linked networks and scheduled
posts. The crash is a real trap: the benchmark overwrites the function in which every event loop waits with an invalid
instruction. It requires x86-64 and write access to the memory of its own processes (`/proc/<pid>/mem`).
"""

import argparse
import ctypes
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from bench import images, web
from bench.networks import Networks
from bench.processes import Program, free_port, libc
from bench.suite import PASSWORD

ROOT = Path(__file__).resolve().parents[1]
PROBES = {
    "auth": "/auth/me",
    "conversations": "/conversations",
    "photos": "/photos/home",
    "push": "/devices",
    "social": "/networks",
    "gateway": "/auth/me",
}
USERNAME = "crashes"
# `roost up` restarts a process immediately when it has run for 10 s.
TRIAL = 10.5
# The required time until requests succeed again, in seconds.
TARGET = 3.0
# The seconds within which the sandbox's APNs must receive every notification that push accepted.
DELIVERY = 60


def main():
    parser = argparse.ArgumentParser(prog="bench.crashes", description=__doc__.splitlines()[0])
    parser.add_argument("--crashes", type=int, default=10, help="the number of crashes per service (10)")
    parser.add_argument("--binaries", type=Path, default=ROOT / ".build/release", help="the folder of the executables")
    arguments = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="roost-crashes-", dir="/var/tmp"))
    home.chmod(0o755)
    try:
        failed = _run(arguments, home)
    finally:
        # Root's database is outside of the working directory (docs/operations.md).
        data = home / ".roost/postgres"
        shutil.rmtree(data.resolve(), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(1 if failed else 0)


def _run(arguments, home):
    gateway = free_port()
    ports = {f"{name.upper()}_URL": f"http://127.0.0.1:{free_port()}" for name in PROBES if name != "gateway"}
    sandbox = f"http://127.0.0.1:{free_port()}"
    ports |= {"SANDBOX": "1", "SANDBOX_URL": sandbox, "SANDBOX_NOTIFICATIONS_MAX": "1000000"}
    ports |= {f"SANDBOX_{name}_PORT": str(free_port()) for name in ("APNS", "APNS_SANDBOX", "SMTP")}
    off = dict.fromkeys(["RATE_USER", "RATE_ADDRESS", "RATE_REGISTER", "CONNECTIONS_PER_ADDRESS_MAX"], "0")
    # The check at the end uses the tokens of all accounts again.
    other = {"ACCESS_TOKEN_SECONDS": "86400", "SOCIAL_POLLS_PER_HOUR": "mastodon=0", "LOG_LEVEL": "error"}
    environment = {**ports, **off, **other, "PORT": str(gateway), "MANAGEMENT_PORT": str(free_port())}
    url = f"http://127.0.0.1:{gateway}"
    command = arguments.binaries.resolve() / "roost"
    with Program("roost", [command, "up", "--directory", home], home, environment) as roost:
        roost.wait_until(lambda: "Roost is ready" in roost.log.read_text(errors="replace"), seconds=120)
        user = _administrator(url, command, home, environment)
        suite = Suite(url, user["jwt"], user["userId"], sandbox)
        writers = [writer(suite) for writer in (Accounts, Messages, Posts, Notifications, Links)]
        rows = {name: [] for name in PROBES}
        for writer in writers:
            writer.start()
        for _ in range(arguments.crashes):
            for name, path in PROBES.items():
                rows[name].append(_crash(home, url, user["jwt"], name, path))
        for writer in writers:
            writer.stop()
        print(
            "| service | crashes | process ended, s: mean, max | requests succeed, s: mean, max | longest request, s |"
        )
        print("| --- | --- | --- | --- | --- |")
        for name, found in rows.items():
            ended, back, wait = zip(*found, strict=True)
            cells = [f"{sum(of) / len(of):.2f}, {max(of):.2f}" for of in (ended, back)]
            print(f"| {name} | {len(found)} | {cells[0]} | {cells[1]} | {max(wait):.2f} |")
        lossy = _print_losses(writers)
        slow = [name for name, found in rows.items() if max(back for _, back, _ in found) > TARGET]
        if slow:
            print(f"requests succeeded later than after {TARGET:.0f} s: {', '.join(slow)}")
        return bool(lossy or slow)


def _print_losses(writers):
    """Prints the counts of each writer, and returns the kinds with losses or without any acknowledged work."""
    print("\n| service | kind | acknowledged | lost | failed attempts | longest until acknowledged, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    lossy = []
    for writer in writers:
        lost = writer.lost()
        if lost or not writer.acknowledged:
            lossy.append(writer.what)
        counts = f"{len(writer.acknowledged)} | {len(lost)} | {writer.failures} | {writer.longest:.2f}"
        print(f"| {writer.service} | {writer.what} | {counts} |")
        if lost:
            print(f"lost {writer.what}: {lost[:10]}", file=sys.stderr)
        if writer.failure:
            print(f"last failure of {writer.what}: {writer.failure!r}", file=sys.stderr)
    if lossy:
        print(f"lost or never acknowledged: {', '.join(lossy)}")
    return lossy


def _administrator(url, command, home, environment):
    """Registers an administrator, who may send notifications, and signs in."""
    client = web.Client(url)
    account = {"username": USERNAME, "password": PASSWORD}
    client.post("/auth/register", account)
    done = subprocess.run(
        [command, "admin", "grant", USERNAME, "--directory", home],
        cwd=home,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        raise RuntimeError(f"roost admin grant: {done.stdout}{done.stderr}")
    return client.post("/auth/login", account)


def _crash(home, url, jwt, name, path):
    """Returns the seconds until the process ended and a request succeeded, and of the longest request meanwhile."""
    pid, started = _process(home, name), time.monotonic()
    while True:
        if not _is_running(pid) or time.monotonic() - started > 120:
            raise RuntimeError(f"{name} ended without a trap or does not respond")
        if time.time() - os.stat(f"/proc/{pid}").st_ctime >= TRIAL and _succeeds(url, path, jwt):
            break
        time.sleep(0.1)
    began = time.monotonic()
    trap(pid)
    ended, longest = None, 0.0
    while time.monotonic() - began < 60:
        requested_at = time.monotonic()
        if ended is None and not _is_running(pid):
            ended = requested_at - began
        is_successful = _succeeds(url, path, jwt)
        longest = max(longest, time.monotonic() - requested_at)
        if ended is not None and is_successful:
            return ended, time.monotonic() - began, longest
        time.sleep(0.01)
    raise RuntimeError(f"{name} does not respond a minute after its trap")


def _process(home, name):
    notes = json.loads((home / ".roost/processes.json").read_text())
    return next(note["process"]["pid"] for note in notes if note["name"] == name)


def _is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _succeeds(url, path, jwt):
    """Returns whether a request over a new connection receives 200."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=40)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {jwt}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def trap(pid):
    """Makes the process execute an invalid instruction at the next tick of one of its event loops."""
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


@dataclass(frozen=True)
class Suite:
    """The addresses of the suite, and the user who writes most of the data."""

    url: str
    jwt: str
    user: str
    sandbox: str

    def client(self):
        return web.Client(self.url, self.jwt)


class Writer:
    """Threads that write one item after another, and retry each until it is acknowledged."""

    service = what = ""
    threads, pause = 1, 0.25

    def __init__(self, suite):
        self.suite = suite
        # The data for finding each acknowledged item, by its key.
        self.acknowledged = {}
        self.failures, self.failure, self.longest = 0, None, 0.0
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(it,), daemon=True) for it in range(self.threads)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def write(self, client, name):
        """Writes the item `name`, and stores its key once it is acknowledged."""
        raise NotImplementedError

    def lost(self):
        """Returns the keys of acknowledged items that are missing or different."""
        missing = list(self.acknowledged.items())
        # A second check after a pause, because a failed request is not a loss.
        for _ in range(2):
            found = web.in_parallel(self._is_there, missing)
            missing = [item for item, is_there in zip(missing, found, strict=True) if not is_there]
            if not missing:
                break
            time.sleep(2)
        return [key for key, _ in missing]

    def is_there(self, item):
        raise NotImplementedError

    def _is_there(self, item):
        try:
            return self.is_there(item)
        except (OSError, http.client.HTTPException, web.Refused) as error:
            self.failure = error
            return False

    def save(self, key, value):
        with self._lock:
            self.acknowledged[key] = value

    def _run(self, thread):
        client, number = self.suite.client(), 0
        while not self._is_over.is_set():
            number += 1
            began = time.monotonic()
            while not self._try(client, f"{thread}-{number}"):
                if self._is_over.wait(0.05):
                    return
            with self._lock:
                self.longest = max(self.longest, time.monotonic() - began)
            self._is_over.wait(self.pause)

    def _try(self, client, name):
        try:
            self.write(client, name)
            return True
        except (OSError, http.client.HTTPException, web.Refused) as error:
            client.connection.close()
            with self._lock:
                self.failures += 1
                self.failure = error
            return False


class Accounts(Writer):
    """Accounts, which exist if their refresh tokens are valid."""

    service, what = "auth", "accounts"

    def write(self, client, name):
        client.token = None
        account = client.post("/auth/anonymous", {})
        self.save(account["userId"], account["refreshToken"])

    def is_there(self, item):
        user, token = item
        return web.Client(self.suite.url).post("/auth/refresh", {"refreshToken": token})["userId"] == user


class Messages(Writer):
    """Messages of one conversation, each retried with the same `clientMessageId`."""

    service, what = "conversations", "messages"
    threads, pause = 8, 0.02

    def __init__(self, suite):
        super().__init__(suite)
        self.token = suite.client().post("/conversations/create", {"label": "crashes"})["token"]

    def write(self, client, name):
        message = {"data": name, "clientMessageId": name}
        self.save(name, client.post(f"/conversations/{self.token}/messages", message)["seq"])

    def lost(self):
        client, found, after = self.suite.client(), {}, 0
        while True:
            page = client.get(f"/conversations/{self.token}/messages?afterSeq={after}&count=100")
            messages = page["messages"] if isinstance(page, dict) and "messages" in page else page
            if not messages:
                # For a message that is stored twice, `found` has the second sequence number.
                return [name for name, seq in self.acknowledged.items() if found.get(name) != seq]
            for message in sorted(messages, key=lambda message: message["seq"]):
                found[message["clientMessageId"]] = message["seq"]
            after = max(message["seq"] for message in messages)


class Posts(Writer):
    """Posts with one image each."""

    service, what = "photos", "posts"
    pause = 0.5

    def __init__(self, suite):
        super().__init__(suite)
        self.person = suite.client().get("/photos/me")["userId"]

    def write(self, client, name):
        image = images.pixel(int(name.partition("-")[2]))
        upload = images.upload(self.suite.url, self.suite.jwt, image)
        self.save(client.post("/photos/posts", {"text": name, "uploadIds": [upload]})["postId"], name)

    def lost(self):
        client, found, cursor = self.suite.client(), {}, ""
        while True:
            page = client.get(f"/photos/people/{quote(self.person)}/posts?limit=100{cursor}")
            found.update({post["postId"]: post["text"] for post in page["posts"]})
            if not page.get("next"):
                return [post for post, text in self.acknowledged.items() if found.get(post) != text]
            cursor = f"&cursor={quote(page['next'])}"


class Notifications(Writer):
    """Notifications to one device, which exist once the sandbox's APNs has accepted them."""

    service, what = "push", "notifications"

    def __init__(self, suite):
        super().__init__(suite)
        device = {"platform": "ios_production", "token": "ab" * 32, "deviceId": "phone"}
        suite.client().post("/devices", device)

    def write(self, client, name):
        draft = {"to": {"userIds": [self.suite.user]}, "title": "A crash", "body": name}
        self.save(client.post("/push/notifications", draft)["id"], name)

    def lost(self):
        client, found, after = web.Client(self.suite.sandbox), set(), 0
        end = time.monotonic() + DELIVERY
        while True:
            accepted = client.get(f"/sandbox/notifications?after={after}&limit=1000")["notifications"]
            found.update(notification.get("body") for notification in accepted)
            after = max([after, *(notification["number"] for notification in accepted)])
            lost = [key for key, name in self.acknowledged.items() if name not in found]
            if not lost or (not accepted and time.monotonic() > end):
                return lost
            time.sleep(0 if accepted else 0.5)


class Links(Writer):
    """Networks that new users link, each with a scheduled post."""

    service, what = "social", "linked networks with a scheduled post"
    pause = 0.5

    def __init__(self, suite):
        super().__init__(suite)
        self.networks = Networks(SandboxAddress(suite.sandbox))
        self.account = self.networks.join("mastodon", self.networks.people[0])
        self.at = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def write(self, client, name):
        client.token = None
        user = client.post("/auth/anonymous", {})
        client.token = user["jwt"]
        self.networks.link(client, "mastodon", self.account)
        self.save(user["userId"], (user["jwt"], None))
        draft = {"at": self.at, "data": {"text": name, "networks": ["mastodon"]}}
        self.save(user["userId"], (user["jwt"], client.post("/feed/schedule", draft)["id"]))

    def is_there(self, item):
        jwt, post = item[1]
        client = web.Client(self.suite.url, jwt)
        linked = {it["network"] for it in client.get("/networks")["networks"] if it["linked"]}
        posts = {it["id"] for it in client.get("/feed/scheduled")["scheduled"]}
        return "mastodon" in linked and (post is None or post in posts)


@dataclass(frozen=True)
class SandboxAddress:
    """The address of the sandbox of `roost up`, for `Networks`."""

    url: str


if __name__ == "__main__":
    main()
