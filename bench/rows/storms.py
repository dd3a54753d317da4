"""Clients that are killed: 500 sockets in 20 conversations lose their connections at one moment, over and over.

Ten users with 50 sockets each are in all 20 conversations, in which messages are sent meanwhile. A last socket never
reads. Each program must be the process that it was, must answer all the time, and must not grow.
`STORM_SECONDS` (20) says for how long.
"""

import base64
import os
import socket
import time
from threading import Event, Thread

from bench import web
from bench.sockets import Clients
from bench.table import Row

SECONDS = int(os.environ.get("STORM_SECONDS", "20"))
USERS, SOCKETS, CHATS = 10, 500, 20
MESSAGES_PER_SECOND = 20
# Every request feels the processor time of a storm; a loop that stands still never answers.
LONGEST_MS = 1_000
GROWTH_PERCENT = 15


def measure(bench):
    with bench.suite("storms") as suite:
        auth = suite.start_auth()
        conversations = suite.start_conversations(RATE_SOCKET="0", SOCKETS_MAX_USER=str(SOCKETS))
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
        port = int(gateway.url.rpartition(":")[2])
        over, longest = Event(), []
        reader = _silent(port, users[1]["jwt"])
        threads = [
            Thread(target=_talk, args=(conversations.url, users[0]["jwt"], chats, over)),
            Thread(target=_watch, args=(conversations.url, longest, over)),
        ]
        for thread in threads:
            thread.start()
        storms, weights = 0, []
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
                weights.append(conversations.program.rss_bytes())
        finally:
            over.set()
            for thread in threads:
                thread.join()
            reader.close()
        for running in (auth, conversations, gateway):
            # Nothing starts them again here: one that runs is the process that was started.
            if running.program.process.poll() is not None:
                raise RuntimeError(f"{running.program.name} ended:\n{running.program.tail()}")
        # The first storms fill caches and the allocator's arenas.
        growth = 100 * (weights[-1] / weights[len(weights) // 3] - 1)
        slowest = max(longest) * 1e3
        what = f"{SOCKETS} sockets in {CHATS} conversations killed at once"
        return [
            Row(what, f"times in {SECONDS} s", storms, ""),
            Row(what, "longest answer, ms", slowest, "", None, f"≤ {LONGEST_MS:,}", slowest <= LONGEST_MS),
            Row(what, "growth, %", growth, "", None, f"≤ {GROWTH_PERCENT}", growth <= GROWTH_PERCENT),
        ]


def _talk(url, jwt, chats, over):
    client, said = web.Client(url, jwt), 0
    while not over.wait(1 / MESSAGES_PER_SECOND):
        client.post(f"/conversations/{chats[said % len(chats)]}/messages", {"data": "storm"})
        said += 1


def _watch(url, longest, over):
    """How long an answer took each time; the first that does not come is the last."""
    while not over.wait(0.02):
        began = time.monotonic()
        if not web.answers(url, "/health"):
            return longest.append(float("inf"))
        longest.append(time.monotonic() - began)


def _silent(port, jwt):
    """A socket that signs in and never reads."""
    client = socket.create_connection(("127.0.0.1", port))
    key = base64.b64encode(os.urandom(16)).decode()
    client.sendall(
        f"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
        f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    client.recv(4_096)
    packet = f'40{{"token":"{jwt}"}}'.encode()
    client.sendall(b"\x81\xfe" + len(packet).to_bytes(2, "big") + bytes(4) + packet)
    return client
