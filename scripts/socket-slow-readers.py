"""Sockets that stop reading while much is said, beside members that read, by python-socketio 5:

    python scripts/socket-slow-readers.py http://127.0.0.1:8080 CHAT BYTES STALLED JWT-OF-SPEAKER JWT-OF-LISTENER

Prints `ready` once they have stopped, and says so many bytes when it reads a line; prints `said`, and at the next line looks
what became of all. Says what is not as it must be, and ends with 1.
"""

import json
import os
import socket
import struct
import sys
import threading
import urllib.parse

from socket_member import WAIT, Member

TEXT = 65_000
# They read all that they missed, which is a lot.
RETURNING = 3
# In seconds: websocket-client looks through what it reads byte by byte, in Python.
WAIT_FOR_A_MEGABYTE = 2


class Stalled:
    """A bare WebSocket with little room in the kernel, which reads until it is signed in and then no more."""

    def __init__(self, url, jwt):
        address = urllib.parse.urlsplit(url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.settimeout(WAIT)
        self.socket.connect((address.hostname, address.port))
        self.input = self.socket.makefile("rb")
        self.heard = []
        self.change = 0
        self.socket.sendall(
            b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        while self.input.readline() not in (b"\r\n", b""):
            pass
        self._send("40" + json.dumps({"token": jwt}))
        while not self.read().startswith('42["authenticate"'):
            pass

    def _send(self, text):
        data = text.encode()
        size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0xFE]) + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + size + bytes(4) + data)

    def read(self):
        """A packet; `EOFError` at the end."""
        head = self._exactly(2)
        size = head[1]
        if size == 126:
            size = struct.unpack(">H", self._exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self._exactly(8))[0]
        data = self._exactly(size)
        return data.decode() if head[0] == 0x81 else ""

    def _exactly(self, count):
        data = self.input.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def drain(self):
        """Reads what is left; true: it was cut off."""
        try:
            while True:
                packet = self.read()
                if packet.startswith('42["message",'):
                    message = json.loads(packet[2:])[1]
                    self.heard.append(message["seq"])
                    self.change = message["change"]
        except TimeoutError:
            return False
        except (EOFError, ConnectionError):
            return True


def say(speaker, total):
    left = list(range(total // TEXT))

    def talk():
        while True:
            try:
                number = left.pop()
            except IndexError:
                return
            try:
                speaker.say(f"{number} ".ljust(TEXT, "x"), f"message {number}")
            except Exception as error:
                speaker.failures.append(f"message {number}: {error!r}")

    threads = [threading.Thread(target=talk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def of_member(name, member, record):
    member.wait(lambda: member.seen().keys() >= record.keys())
    missing = record.keys() - member.seen().keys()
    if missing:
        yield f"{name} misses {len(missing)}"
    yield from (f"{name} {failure}" for failure in member.failures)


def of_stalled(url, chat, jwt, stalled, total):
    for number, one in enumerate(stalled):
        if not one.drain():
            yield f"stalled {number} was not cut off"
        if one.heard != list(range(1, len(one.heard) + 1)) or len(one.heard) == total:
            yield f"stalled {number} heard {len(one.heard)} of {total}, or with gaps"
    for number, one in enumerate(stalled[:RETURNING]):
        back = Member(url, chat, jwt, by="event", last=one.change)
        back.here(WAIT + WAIT_FOR_A_MEGABYTE * total * TEXT / 1e6)
        known = set(one.heard) | {seq for seq, _, _ in back.told.values()}
        if known != set(range(1, total + 1)):
            yield f"stalled {number} came back and knows {len(known)} of {total}"
        yield from (f"stalled {number} came back and {failure}" for failure in back.failures)


def main():
    url, chat, total, count, speaker_jwt, listener_jwt = sys.argv[1:]
    chat = int(chat)
    speaker = Member(url, chat, speaker_jwt)
    listeners = [Member(url, chat, listener_jwt), Member(url, chat, listener_jwt, "polling")]
    for member in (speaker, *listeners):
        member.here()
    stalled = [Stalled(url, listener_jwt) for _ in range(int(count))]
    print("ready", flush=True)
    sys.stdin.readline()
    say(speaker, int(total))
    print("said", flush=True)
    sys.stdin.readline()
    record = {message["id"]: message for message in speaker.record()}
    found = []
    for name, member in (("speaker", speaker), ("listener", listeners[0]), ("polling listener", listeners[1])):
        found += of_member(name, member, record)
    found += of_stalled(url, chat, listener_jwt, stalled, len(record))
    print(f"heard before they were cut off: {sorted(len(one.heard) for one in stalled)} of {len(record)}")
    print("\n".join(found[:20]) if found else "the same", flush=True)
    # The members' threads would wait for ever.
    os._exit(1 if found else 0)


main()
