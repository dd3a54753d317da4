"""Killed clients: 500 sockets in 20 conversations lose their connections at the same moment, repeatedly.

Ten users with 50 sockets each are members of all 20 conversations, to which messages are sent meanwhile. Beside them:

- two slow readers, one behind the gateway and one at conversations itself, which read much less than they receive, and
  sign in again when they are disconnected;
- two endless peers: Mastodon instances that two users have linked. One sends endless blank lines, the other endless
  events.

No process may end, stop responding or grow, and no event loop may be late. `STORM_SECONDS` (20) sets the duration.
"""

import base64
import http.client
import os
import socket
import time
from threading import Event, Thread
from urllib.parse import urlsplit

from bench import loops, web
from bench.endless import EndlessInstance
from bench.networks import Networks
from bench.sandbox import Sandbox
from bench.sockets import Clients
from bench.table import Row

SECONDS = int(os.environ.get("STORM_SECONDS", "20"))
USERS, SOCKETS, CHATS = 10, 500, 20
MESSAGES_PER_SECOND = 20
# Large enough that the unread messages of slow readers fill the system's buffers within seconds.
MESSAGE = "storm " * 100
PIECES = (b"\n", b"event: delete\ndata: 7\n\n")
# A storm's processor time delays every request, but a blocked loop never responds.
LONGEST_MS = 1_000
LOOP_DELAY = 0.1
GROWTH_PERCENT = 15


def measure(bench):
    with bench.suite("storms") as suite:
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory))
        peers = [suite.stack.enter_context(EndlessInstance(sandbox.url, piece)) for piece in PIECES]
        networks = Networks(sandbox)
        auth = suite.start_auth()
        conversations = suite.start_conversations(RATE_SOCKET="0", SOCKETS_PER_USER_MAX=str(SOCKETS))
        photos = suite.start_photos()
        settings = {**networks.settings(polls=0), "ALLOWED_PRIVATE_HOSTS": ",".join(peer.address for peer in peers)}
        social = suite.start_social(STREAM_HEARTBEAT="1", **settings)
        gateway = suite.start_gateway()
        users = web.in_parallel(lambda _: suite.sign_in_user(auth.url), range(USERS))
        owner = web.Client(conversations.url, users[0]["jwt"])
        members = [user["userId"] for user in users]
        chats = [
            owner.post("/conversations/create", {"label": f"storm {number}", "members": members})["token"]
            for number in range(CHATS)
        ]
        connects = suite.directory / "connects.txt"
        connects.write_text("".join(f'40{{"token":"{user["jwt"]}"}}\n' for user in users))
        port = _port(gateway)
        over, longest, refused = Event(), [], []
        readers = [_SlowReader(_port(running), users[1]["jwt"], over) for running in (gateway, conversations)]
        threads = [
            *readers,
            Thread(target=_send_messages, args=(conversations.url, users[0]["jwt"], chats, over, refused)),
            Thread(target=_watch, args=(conversations.url, longest, over)),
        ]
        for peer, user in zip(peers, users[2:], strict=False):
            client = web.Client(social.url, user["jwt"])
            networks.link(client, "mastodon", networks.join("mastodon", networks.people[0]), base=peer.url)
            threads.append(Thread(target=_follow, args=(gateway.url, user["jwt"], over)))
        processes = {"conversations": conversations, "gateway": gateway, "social": social}
        loads = {name: loops.read(processes[name]) for name in ("conversations", "gateway")}
        for thread in threads:
            thread.start()
        storms, memory = 0, {name: [] for name in processes}
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end or storms < 3:
                clients = Clients(
                    bench.binaries, port, SOCKETS, connects=connects, ready='42["authenticate",{"code":200'
                )
                clients.process.kill()
                clients.process.wait()
                clients.process.stdin.close()
                storms += 1
                for name, running in processes.items():
                    memory[name].append(running.program.rss_bytes())
            delays = {name: loops.since(before, processes[name]) for name, before in loads.items()}
        finally:
            over.set()
            for thread in threads:
                thread.join()
        for running in (auth, photos, *processes.values()):
            # Nothing restarts the processes here, so a running process is the original one.
            if running.program.process.poll() is not None:
                raise RuntimeError(f"{running.program.name} ended:\n{running.program.tail()}")
        _check(readers, peers)
    bench.note("Storms, event loop delays", _loop_table(delays))
    bench.note("Storms, slow readers and endless peers", _participants(readers, peers, refused))
    slowest = max(longest) * 1e3
    what = f"{SOCKETS} sockets in {CHATS} conversations killed at once"
    return [
        Row(what, f"storms in {SECONDS} s", storms, ""),
        Row(what, "longest response, ms", slowest, "", None, f"≤ {LONGEST_MS:,}", slowest <= LONGEST_MS),
        Row(what, "messages not acknowledged", len(refused), "", None, "0", not refused),
        *(row for name, of in delays.items() for row in _loop_rows(f"{what}, loops of {name}", of)),
        *(_growth_row(f"{what}, {name}", of) for name, of in memory.items()),
    ]


def _port(running):
    return urlsplit(running.url).port


def _loop_rows(what, delays):
    delays = loops.together(delays.values())
    worst, most = delays.worst * 1e3, f"≤ {LOOP_DELAY * 1e3:.0f}"
    return [
        Row(what, "% of samples ≤ 100 ms", delays.share(LOOP_DELAY) * 100, ""),
        Row(what, "p99 of the delay, upper bound, ms", delays.percentile(0.99) * 1e3, ""),
        Row(what, "longest delay, upper bound, ms", worst, "", None, most, delays.worst <= LOOP_DELAY),
    ]


def _growth_row(what, memory):
    # The first storms fill caches and the allocator's arenas.
    growth = 100 * (memory[-1] / memory[len(memory) // 3] - 1)
    return Row(what, "growth, %", growth, "", None, f"≤ {GROWTH_PERCENT}", growth <= GROWTH_PERCENT)


def _loop_table(delays):
    lines = ["| process | loop | samples | % ≤ 100 ms | p99, upper bound, ms | longest, upper bound, ms |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, of in delays.items():
        for loop, it in sorted(of.items()):
            lines.append(
                f"| {name} | {loop} | {it.samples} | {it.share(LOOP_DELAY) * 100:.2f} "
                f"| {it.percentile(0.99) * 1e3:.0f} | {it.worst * 1e3:.0f} |"
            )
    return "\n".join(lines)


def _check(readers, peers):
    """Fails unless every slow reader and every endless peer took part."""
    if not all(reader.opened for reader in readers):
        raise RuntimeError("a slow reader never signed in")
    if not all(peer.sent for peer in peers):
        raise RuntimeError("an endless peer sent nothing because social opened no stream")


def _participants(readers, peers, refused):
    signed_in = " and ".join(f"{reader.opened}" for reader in readers)
    lines = [f"The slow readers signed in {signed_in} times, the second at conversations itself."]
    for peer, piece in zip(peers, PIECES, strict=True):
        lines.append(f"Social opened {peer.streams} streams of {piece!r} and received {peer.sent / 1e6:.1f} MB.")
    if refused:
        lines.append(f"The first message that was not acknowledged: {refused[0]!r}")
    return "\n".join(f"- {line}" for line in lines)


def _send_messages(url, jwt, chats, over, refused):
    client, sent = web.Client(url, jwt), 0
    while not over.wait(1 / MESSAGES_PER_SECOND):
        try:
            client.post(f"/conversations/{chats[sent % len(chats)]}/messages", {"data": MESSAGE})
        except (OSError, http.client.HTTPException, web.Refused) as error:
            refused.append(error)
            client.connection.close()
        sent += 1


def _watch(url, longest, over):
    """Records the time of each response, and stops at the first failure."""
    while not over.wait(0.02):
        began = time.monotonic()
        if not web.responds(url, "/health"):
            return longest.append(float("inf"))
        longest.append(time.monotonic() - began)


def _follow(url, jwt, over):
    """Reads the user's stream of social events through the gateway, and opens it again when it ends."""
    while not over.wait(0.5):
        # The heartbeat of one second bounds each read.
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        try:
            connection.request("GET", "/stream", headers={"Authorization": f"Bearer {jwt}"})
            response = connection.getresponse()
            while response.status == 200 and not over.is_set() and response.read1(65_536):
                pass
        except (OSError, http.client.HTTPException):
            # The next round opens another stream.
            pass
        finally:
            connection.close()


class _SlowReader(Thread):
    """A socket that signs in, responds to heartbeats in time and reads 128 bytes per second."""

    def __init__(self, port, jwt, over):
        super().__init__()
        self.port, self.jwt, self.over = port, jwt, over
        self.opened = 0

    def run(self):
        while not self.over.wait(0.5):
            try:
                with socket.socket() as client:
                    self._sign_in(client)
                    self.opened += 1
                    self._read_slowly(client)
            except OSError:
                # The server disconnected the socket, or a storm is running. The next round signs in again.
                pass

    def _sign_in(self, client):
        # The small buffer is set before connecting, so that unread data soon waits at the sender.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(10)
        client.connect(("127.0.0.1", self.port))
        key = base64.b64encode(os.urandom(16)).decode()
        client.sendall(
            "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{self.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        _read_until(client, b'"pingInterval"')
        client.sendall(_frame(f'40{{"token":"{self.jwt}"}}'))
        _read_until(client, b'42["authenticate",{"code":200')

    def _read_slowly(self, client):
        pong_at = 0.0
        while not self.over.wait(0.5):
            if time.monotonic() >= pong_at:
                # The corresponding ping is behind the unread data.
                client.sendall(_frame("3"))
                pong_at = time.monotonic() + 10
            if not client.recv(64):
                return


def _read_until(client, text):
    received = b""
    while text not in received:
        piece = client.recv(4_096)
        if not piece or len(received) > 1_048_576:
            raise ConnectionError("the socket was not opened")
        received += piece


def _frame(text):
    """A text frame, masked with zeros."""
    content = text.encode()
    length = bytes([0x80 | len(content)]) if len(content) < 126 else b"\xfe" + len(content).to_bytes(2, "big")
    return b"\x81" + length + bytes(4) + content
