"""Plain WebSockets that sign in and reconnect when they are disconnected:

    python scripts/socket-reconnects.py http://127.0.0.1:8080 COUNT JWT

Prints `ready` when all are connected, and `back` when all were disconnected and have reconnected. Then prints the
seconds and the number of failed attempts. One core cannot run as many python-socketio clients, so these send only the
minimum.
"""

import asyncio
import json
import random
import resource
import struct
import sys
import time
import urllib.parse
from collections import Counter

HANDSHAKE = (
    b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
# A client's timeout and its pause before the next attempt in seconds, as in Socket.IO's clients.
TIMEOUT = 20
PAUSE = 0.5, 1.5


class Refused(Exception):
    pass


async def read(reader):
    head = await reader.readexactly(2)
    size = head[1]
    if size == 126:
        size = struct.unpack(">H", await reader.readexactly(2))[0]
    return await reader.readexactly(size)


def frame(text):
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0xFE]) + struct.pack(">H", len(data))
    return b"\x81" + size + bytes(4) + data


async def connect(address, jwt):
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(HANDSHAKE + frame("40" + json.dumps({"token": jwt})))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head:
            raise Refused(head.split(b"\r\n")[0].decode())
        while not (packet := await read(reader)).startswith(b'42["authenticate",{"code":200'):
            if packet.startswith((b"44", b"41", b'42["authenticate"')):
                raise Refused(packet.decode())
        return reader, writer
    except BaseException:
        writer.close()
        raise


class Clients:
    def __init__(self, url, count, jwt):
        self.address, self.count, self.jwt = urllib.parse.urlsplit(url), count, jwt
        self.connections = asyncio.Queue()
        self.drops = asyncio.Queue()
        self.failures = Counter()

    async def run_client(self):
        while True:
            try:
                async with asyncio.timeout(TIMEOUT):
                    reader, writer = await connect(self.address, self.jwt)
            except (OSError, EOFError, TimeoutError, Refused) as error:
                self.failures[f"{type(error).__name__} {error}"] += 1
                await asyncio.sleep(random.uniform(*PAUSE))
                continue
            self.connections.put_nowait(True)
            try:
                while True:
                    if await read(reader) == b"2":
                        writer.write(frame("3"))
            except (OSError, EOFError):
                self.drops.put_nowait(time.monotonic())
                writer.close()
            await asyncio.sleep(random.uniform(*PAUSE))

    async def run(self):
        tasks = []
        for number in range(self.count):
            tasks.append(asyncio.create_task(self.run_client()))
            # The first connections are spread over time. The reconnections are simultaneous.
            if number % 50 == 49:
                await asyncio.sleep(0.05)
        for _ in tasks:
            await self.connections.get()
        print("ready", flush=True)
        self.failures.clear()
        dropped = [await self.drops.get() for _ in tasks]
        for _ in tasks:
            await self.connections.get()
        print("back", flush=True)
        print(
            f"{self.count} reconnected in {time.monotonic() - min(dropped):.1f} s, failed attempts: {dict(self.failures)}"
        )
        for task in tasks:
            task.cancel()


resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
asyncio.run(Clients(sys.argv[1], int(sys.argv[2]), sys.argv[3]).run())
