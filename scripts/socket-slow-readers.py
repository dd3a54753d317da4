"""Sockets that stop reading while many messages are sent, beside members that read, with python-socketio 5:

    python scripts/socket-slow-readers.py http://127.0.0.1:8080 CHAT BYTES STALLED JWT-OF-SENDER JWT-OF-READER

Prints `ready` when the sockets have stopped reading. After an input line, sends BYTES bytes and prints `said`. After
another line, checks all members and sockets, prints the differences, and exits with 1 if there are any.
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
# Only a few reconnect, because each reads all missed messages.
RETURNING = 3
# In seconds. websocket-client examines each received byte in Python.
WAIT_FOR_A_MEGABYTE = 2


class Stalled:
    """A plain WebSocket with a small receive buffer, which stops reading after the sign-in."""

    def __init__(self, url, jwt):
        address = urllib.parse.urlsplit(url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.settimeout(WAIT)
        self.socket.connect((address.hostname, address.port))
        self.input = self.socket.makefile("rb")
        self.received = []
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
        """Returns a packet. Raises `EOFError` at the end."""
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
        """Reads the remaining packets, and returns whether the server disconnected the socket."""
        try:
            while True:
                packet = self.read()
                if packet.startswith('42["message",'):
                    message = json.loads(packet[2:])[1]
                    self.received.append(message["seq"])
                    self.change = message["change"]
        except TimeoutError:
            return False
        except (EOFError, ConnectionError):
            return True


def send_bytes(sender, total):
    left = list(range(total // TEXT))

    def send_messages():
        while True:
            try:
                number = left.pop()
            except IndexError:
                return
            try:
                sender.send(f"{number} ".ljust(TEXT, "x"), f"message {number}")
            except Exception as error:
                sender.failures.append(f"message {number}: {error!r}")

    threads = [threading.Thread(target=send_messages) for _ in range(4)]
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
            yield f"stalled {number} was not disconnected"
        if one.received != list(range(1, len(one.received) + 1)) or len(one.received) == total:
            yield f"stalled {number} received {len(one.received)} of {total}, or with gaps"
    for number, one in enumerate(stalled[:RETURNING]):
        back = Member(url, chat, jwt, by="event", last=one.change)
        back.wait_for_connection(WAIT + WAIT_FOR_A_MEGABYTE * total * TEXT / 1e6)
        seqs = set(one.received) | {seq for seq, _, _ in back.received.values()}
        if seqs != set(range(1, total + 1)):
            yield f"stalled {number} reconnected and has {len(seqs)} of {total}"
        yield from (f"stalled {number} reconnected and {failure}" for failure in back.failures)


def main():
    url, chat, total, count, sender_jwt, reader_jwt = sys.argv[1:]
    chat = int(chat)
    sender = Member(url, chat, sender_jwt)
    readers = [Member(url, chat, reader_jwt), Member(url, chat, reader_jwt, "polling")]
    for member in (sender, *readers):
        member.wait_for_connection()
    stalled = [Stalled(url, reader_jwt) for _ in range(int(count))]
    print("ready", flush=True)
    sys.stdin.readline()
    send_bytes(sender, int(total))
    print("said", flush=True)
    sys.stdin.readline()
    record = {message["id"]: message for message in sender.record()}
    found = []
    for name, member in (("sender", sender), ("reader", readers[0]), ("polling reader", readers[1])):
        found += of_member(name, member, record)
    found += of_stalled(url, chat, reader_jwt, stalled, len(record))
    print(f"received before the disconnection: {sorted(len(one.received) for one in stalled)} of {len(record)}")
    print("\n".join(found[:20]) if found else "no differences", flush=True)
    # The members' threads never end.
    os._exit(1 if found else 0)


main()
