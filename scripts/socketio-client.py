"""Tests a Socket.IO server with the installed version of python-socketio:

    python scripts/socketio-client.py http://127.0.0.1:3000 polling|websocket|upgrade

The server must echo messages as socketio-echo does. The event `ask` makes it emit a `question` that the client
acknowledges.
"""

import os
import queue
import sys

import engineio
import socketio

MAJOR = 5 if hasattr(socketio, "SimpleClient") else 4
# The timeout of each response in seconds, long enough for a busy machine.
WAIT = 60


class OrderedEngine(engineio.Client):
    """Handles packets in order. python-engineio starts a thread per packet, and threads may overtake each other."""

    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        return super()._trigger_event(event, *args, run_async=False, **kwargs)


class OrderedClient(socketio.Client):
    def _engineio_client_class(self):
        return OrderedEngine


class Client:
    """A connection, and the received events."""

    def __init__(self, url, transport):
        self.events = queue.Queue()
        self.sio = OrderedClient(reconnection=False)
        for namespace in ("/", "/custom"):
            for event in ("message-back", "auth"):
                self.sio.on(event, self._recorder(event, namespace), namespace=namespace)
        self.sio.on("question", lambda *asked: ("answer", *asked))
        options = {"namespaces": ["/", "/custom"]}
        if transport != "upgrade":
            options["transports"] = [transport]
        if MAJOR == 5:
            options["auth"] = {"token": "é"}
            options["wait_timeout"] = WAIT
        self.sio.connect(url, **options)

    def _recorder(self, event, namespace):
        return lambda *arguments: self.events.put((namespace, event, list(arguments)))

    def wait(self):
        return self.events.get(timeout=WAIT)


def expect(found, expected):
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}"[:2_000])


def connecting(client):
    auth = {"token": "é"} if MAJOR == 5 else {}
    both = sorted(client.wait() for _ in range(2))
    expect(both, [("/", "auth", [auth]), ("/custom", "auth", [auth])])


def messages(client):
    for message in ("text", "é € 😀", "\x1e and \0 and \n", 7, None, [1, {"a": [True, None]}], {"": "empty"}):
        client.sio.emit("message", message)
        expect(client.wait(), ("/", "message-back", [] if message is None else [message]))
    client.sio.emit("message", ("one", 2, {"three": 3}))
    expect(client.wait(), ("/", "message-back", ["one", 2, {"three": 3}]))
    client.sio.emit("message", "there", namespace="/custom")
    expect(client.wait(), ("/custom", "message-back", ["there"]))


def binary(client):
    # Version 4 turns empty bytes into None.
    nothing = (b"",) if MAJOR == 5 else ()
    for message in (b"\x00\x01\xfe\xff", *nothing, {"a": b"one", "b": [b"two", "€"]}, b"\x1e" * 1_000):
        client.sio.emit("message", message)
        expect(client.wait(), ("/", "message-back", [message]))


def acknowledgements(client):
    expect(client.sio.call("message-with-ack", "é", timeout=WAIT), "é")
    expect(client.sio.call("message-with-ack", ("a", b"b"), timeout=WAIT), ("a", b"b"))
    expect(client.sio.call("message-with-ack", 1, namespace="/custom", timeout=WAIT), 1)
    expect(client.sio.call("ask", "what", timeout=WAIT), ("answer", "what"))


def order(client):
    for number in range(200):
        client.sio.emit("message", number)
    for number in range(200):
        expect(client.wait(), ("/", "message-back", [number]))


def large(client):
    message = "€" * 100_000
    client.sio.emit("message", message)
    expect(client.wait(), ("/", "message-back", [message]))


def heartbeats(client):
    # Longer than the ping interval, so a client with wrong heartbeats would be disconnected.
    client.sio.sleep(1.5 * client.sio.eio.ping_interval)
    expect(client.sio.call("message-with-ack", "still here", timeout=WAIT), "still here")


def transport(client, wanted):
    expect(client.sio.transport(), "polling" if wanted == "polling" else "websocket")


def fail(why):
    print(why, flush=True)
    # The client's threads never end.
    os._exit(1)


def main():
    url, wanted = sys.argv[1:]
    client = Client(url, wanted)
    checks = (connecting, messages, binary, acknowledgements, order, large, heartbeats)
    for check in (*checks, lambda client: transport(client, wanted)):
        try:
            check(client)
        except queue.Empty:
            fail(f"{check.__name__}: received nothing")
        except Exception as error:
            fail(f"{check.__name__}: {error!r}")
    client.sio.disconnect()


main()
