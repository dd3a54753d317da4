"""Holds a server to what python-socketio expects, whichever of its versions runs this:

    python scripts/socketio-client.py http://127.0.0.1:3000 polling|websocket|upgrade

The server says back what it is told, as socketio-echo does; `ask` has it ask back, by a `question` that is acknowledged.
"""

import os
import queue
import sys

import engineio
import socketio

MAJOR = 5 if hasattr(socketio, "SimpleClient") else 4
# In which each answer comes, however busy the machine is.
WAIT = 60


class OrderedEngine(engineio.Client):
    """Hands packets on one after another; python-engineio gives each a thread, which may overtake another."""

    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        return super()._trigger_event(event, *args, run_async=False, **kwargs)


class OrderedClient(socketio.Client):
    def _engineio_client_class(self):
        return OrderedEngine


class Client:
    """A connection, and what it was told."""

    def __init__(self, url, transport):
        self.told = queue.Queue()
        self.sio = OrderedClient(reconnection=False)
        for namespace in ("/", "/custom"):
            for event in ("message-back", "auth"):
                self.sio.on(event, self._telling(event, namespace), namespace=namespace)
        self.sio.on("question", lambda *asked: ("answer", *asked))
        options = {"namespaces": ["/", "/custom"]}
        if transport != "upgrade":
            options["transports"] = [transport]
        if MAJOR == 5:
            options["auth"] = {"token": "é"}
            options["wait_timeout"] = WAIT
        self.sio.connect(url, **options)

    def _telling(self, event, namespace):
        return lambda *arguments: self.told.put((namespace, event, list(arguments)))

    def wait(self):
        return self.told.get(timeout=WAIT)


def expect(found, expected):
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}"[:2_000])


def connecting(client):
    auth = {"token": "é"} if MAJOR == 5 else {}
    both = sorted(client.wait() for _ in range(2))
    expect(both, [("/", "auth", [auth]), ("/custom", "auth", [auth])])


def messages(client):
    for said in ("text", "é € 😀", "\x1e and \0 and \n", 7, None, [1, {"a": [True, None]}], {"": "empty"}):
        client.sio.emit("message", said)
        expect(client.wait(), ("/", "message-back", [] if said is None else [said]))
    client.sio.emit("message", ("one", 2, {"three": 3}))
    expect(client.wait(), ("/", "message-back", ["one", 2, {"three": 3}]))
    client.sio.emit("message", "there", namespace="/custom")
    expect(client.wait(), ("/custom", "message-back", ["there"]))


def binary(client):
    # Of nothing, version 4 makes None itself.
    nothing = (b"",) if MAJOR == 5 else ()
    for said in (b"\x00\x01\xfe\xff", *nothing, {"a": b"one", "b": [b"two", "€"]}, b"\x1e" * 1_000):
        client.sio.emit("message", said)
        expect(client.wait(), ("/", "message-back", [said]))


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
    said = "€" * 100_000
    client.sio.emit("message", said)
    expect(client.wait(), ("/", "message-back", [said]))


def heartbeats(client):
    # More than an interval of the server's: whoever got it wrong would be cut off.
    client.sio.sleep(1.5 * client.sio.eio.ping_interval)
    expect(client.sio.call("message-with-ack", "still here", timeout=WAIT), "still here")


def transport(client, wanted):
    expect(client.sio.transport(), "polling" if wanted == "polling" else "websocket")


def fail(why):
    print(why, flush=True)
    # The client's threads would wait for ever.
    os._exit(1)


def main():
    url, wanted = sys.argv[1:]
    client = Client(url, wanted)
    checks = (connecting, messages, binary, acknowledgements, order, large, heartbeats)
    for check in (*checks, lambda client: transport(client, wanted)):
        try:
            check(client)
        except queue.Empty:
            fail(f"{check.__name__}: nothing came")
        except Exception as error:
            fail(f"{check.__name__}: {error!r}")
    client.sio.disconnect()


main()
