"""Two users chat through the gateway, with the installed version of python-socketio:

    python scripts/socket-journey.py http://127.0.0.1:8080 polling|websocket|upgrade JWT-OF-ONE JWT-OF-ANOTHER

Prints nothing on success. On failure, prints the error and exits with 1.
"""

import base64
import json
import os
import queue
import sys
import time
import traceback
import urllib.request

import engineio
import socketio

MAJOR = 5 if hasattr(socketio, "SimpleClient") else 4
WAIT = 60
# Version 5 waits one second for its namespace by default; version 4 does not wait.
OPTIONS = {"wait_timeout": WAIT} if MAJOR == 5 else {}
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 300


class OrderedEngine(engineio.Client):
    """Handles packets in order. python-engineio starts a thread per packet, and threads may overtake each other."""

    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        return super()._trigger_event(event, *args, run_async=False, **kwargs)


class OrderedClient(socketio.Client):
    def _engineio_client_class(self):
        return OrderedEngine


class Person:
    """A user with a client, and the received events."""

    def __init__(self, url, transport, jwt, by="event", last=None):
        self.events = {}
        self.sio = OrderedClient(reconnection=False)
        for event in ("message", "message/updated", "message/read", "typing", "messages/sync", "authenticate"):
            self.events[event] = queue.Queue()
            self.sio.on(event, self.events[event].put)
        self.is_disconnected = False
        self.sio.on("disconnect", self._disconnected)
        options = {} if transport == "upgrade" else {"transports": [transport]}
        options |= OPTIONS
        if by == "header":
            options["headers"] = {"Authorization": f"Bearer {jwt}"}
        if by == "payload":
            options["auth"] = {"token": jwt, "last": last or {}}
        self.sio.connect(url, **options)
        self.device = self.call("authenticate", authToken=jwt) if by == "event" else self.next_event("authenticate")
        # The client has finished the upgrade when `connect` returns.
        expected = "websocket" if transport == "upgrade" else transport
        check(self.sio.transport() == expected, f"the transport is {self.sio.transport()}")

    def _disconnected(self, *_):
        self.is_disconnected = True

    def call(self, event, expected=200, **payload):
        answer = self.sio.call(event, payload, timeout=WAIT)
        check(answer["code"] == expected, f"{event} returned {answer}")
        return answer

    def next_event(self, event):
        return self.events[event].get(timeout=WAIT)


def check(holds, problem):
    if not holds:
        raise AssertionError(problem)


def chat_journey(url, transport, ann_jwt, bob_jwt):
    ann = Person(url, transport, ann_jwt)
    bob = Person(url, transport, bob_jwt, by="payload" if MAJOR == 5 else "header")
    names = [person.device["owner"]["serial"] for person in (ann, bob)]

    chat = ann.call("chats/create", members=[names[1]], whiteList=None, meta={"name": "Größe €"})
    check(chat["members"] == names, f"members {chat['members']}")
    chat_id = chat["id"]

    texts = [f"{number} grüße 👋 \u2028" for number in range(30)]
    for text in texts:
        ann.call("messages/create", chatId=chat_id, data=text, mime="text/plain", encoding="utf8")
    received = [bob.next_event("message") for _ in texts]
    check([message["data"] for message in received] == texts, f"received {[message['data'] for message in received]}")
    check([message["seq"] for message in received] == list(range(1, 31)), "seq has a gap")

    picture = ann.call(
        "messages/create", chatId=chat_id, data=base64.b64encode(PICTURE).decode(), mime="image/png", encoding="base64"
    )
    check(picture["encoding"] == "url" and picture["mime"] == "image/png", f"picture {picture}")
    link = url + "/" + bob.next_event("message")["data"].split("/", 3)[3]
    with urllib.request.urlopen(link, timeout=WAIT) as answer:
        check(answer.read() == PICTURE, "the downloaded picture differs")

    history = bob.call("messages/list", chatId=chat_id, count=5, page=0)["messages"]
    check([message["seq"] for message in history] == [31, 30, 29, 28, 27], "history is not newest first")
    bob.call("messages/markAsRead", messageId=history[0]["id"])
    check(ann.next_event("message/read")["seq"] == 31, "the read mark is wrong")
    ann.call("messages/edit", messageId=history[1]["id"], data="edited")
    check(bob.next_event("message/updated")["data"] == "edited", "the edit was not received")
    ann.call("chats/typing", chatId=chat_id)
    check(bob.next_event("typing")["userId"] == names[0], "the typing event was not received")

    # Without an acknowledgement id, the server responds with an event, which this client ignores.
    bob.sio.emit("messages/create", {"chatId": chat_id, "data": "no acknowledgement"})
    unacknowledged = ann.next_event("message")
    check(unacknowledged["data"] == "no acknowledgement", f"received {unacknowledged} instead of the emitted message")

    ann.call("messages/create", 495, chatId=chat_id + 1_000_000, data="x")
    ann.call("messages/create", 497, chatId=chat_id)
    ann.call("chats/kick", chatId=chat_id, userId=names[1])
    system = bob.next_event("message")
    check(system["senderUser"] is None, f"a system message has the sender {system['senderUser']}")
    check(json.loads(system["data"]) == {"type": "user.kicked", "userId": names[1]}, f"system message {system}")
    bob.call("messages/create", 495, chatId=chat_id, data="let me in")

    if MAJOR == 5:
        ann.call("chats/addMember", chatId=chat_id, userId=names[1])
        back = Person(url, transport, bob_jwt, by="payload", last={str(chat_id): 30})
        missed = back.next_event("messages/sync")
        check(missed["messages"], f"no missed messages: {missed}")
        back.sio.disconnect()
    bob.sio.disconnect()
    ann.sio.disconnect()


def expect_timeout(url, transport):
    """Expects that the server disconnects a client that does not sign in."""
    client = socketio.Client(reconnection=False)
    ended = queue.Queue()
    client.on("disconnect", lambda *_: ended.put(True))
    client.connect(url, transports=[transport if transport != "upgrade" else "websocket"], **OPTIONS)
    began = time.monotonic()
    ended.get(timeout=WAIT)
    check(time.monotonic() - began < WAIT, "a silent client was not disconnected")


def main():
    url, transport, ann_jwt, bob_jwt = sys.argv[1:]
    chat_journey(url, transport, ann_jwt, bob_jwt)
    expect_timeout(url, transport)


try:
    main()
except BaseException:
    traceback.print_exc()
    # Connected clients would keep the process running.
    sys.stderr.flush()
    os._exit(1)
