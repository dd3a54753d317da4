"""Two people talk through the gateway, by whichever version of python-socketio runs this:

    python scripts/socket-journey.py http://127.0.0.1:8080 polling|websocket|upgrade JWT-OF-ONE JWT-OF-ANOTHER

Says what went wrong, and ends with 1; says nothing else.
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
# Version 5 waits a second for its namespace, where it is told nothing else; version 4 does not wait.
PATIENT = {"wait_timeout": WAIT} if MAJOR == 5 else {}
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 300


class OrderedEngine(engineio.Client):
    """Hands packets on one after another; python-engineio gives each a thread, which may overtake another."""

    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        return super()._trigger_event(event, *args, run_async=False, **kwargs)


class OrderedClient(socketio.Client):
    def _engineio_client_class(self):
        return OrderedEngine


class Person:
    """Somebody at a client, and what it was told."""

    def __init__(self, url, transport, jwt, by="event", last=None):
        self.told = {}
        self.sio = OrderedClient(reconnection=False)
        for event in ("message", "message/updated", "message/read", "typing", "messages/sync", "authenticate"):
            self.told[event] = queue.Queue()
            self.sio.on(event, self.told[event].put)
        self.is_cut_off = False
        self.sio.on("disconnect", self._disconnected)
        options = {} if transport == "upgrade" else {"transports": [transport]}
        options |= PATIENT
        if by == "header":
            options["headers"] = {"Authorization": f"Bearer {jwt}"}
        if by == "payload":
            options["auth"] = {"token": jwt, "last": last or {}}
        self.sio.connect(url, **options)
        self.device = self.ask("authenticate", authToken=jwt) if by == "event" else self.hear("authenticate")
        # It has upgraded once it is connected.
        expected = "websocket" if transport == "upgrade" else transport
        check(self.sio.transport() == expected, f"goes by {self.sio.transport()}")

    def _disconnected(self, *_):
        self.is_cut_off = True

    def ask(self, event, expected=200, **payload):
        answer = self.sio.call(event, payload, timeout=WAIT)
        check(answer["code"] == expected, f"{event} answered {answer}")
        return answer

    def hear(self, event):
        return self.told[event].get(timeout=WAIT)


def check(holds, otherwise):
    if not holds:
        raise AssertionError(otherwise)


def talk(url, transport, ann_jwt, bob_jwt):
    ann = Person(url, transport, ann_jwt)
    bob = Person(url, transport, bob_jwt, by="payload" if MAJOR == 5 else "header")
    names = [person.device["owner"]["serial"] for person in (ann, bob)]

    chat = ann.ask("chats/create", members=[names[1]], whiteList=None, meta={"name": "Größe €"})
    check(chat["members"] == names, f"members {chat['members']}")
    chat_id = chat["id"]

    texts = [f"{number} grüße 👋 \u2028" for number in range(30)]
    for text in texts:
        ann.ask("messages/create", chatId=chat_id, data=text, mime="text/plain", encoding="utf8")
    heard = [bob.hear("message") for _ in texts]
    check([message["data"] for message in heard] == texts, f"heard {[message['data'] for message in heard]}")
    check([message["seq"] for message in heard] == list(range(1, 31)), "seq has a gap")

    picture = ann.ask(
        "messages/create", chatId=chat_id, data=base64.b64encode(PICTURE).decode(), mime="image/png", encoding="base64"
    )
    check(picture["encoding"] == "url" and picture["mime"] == "image/png", f"picture {picture}")
    link = url + "/" + bob.hear("message")["data"].split("/", 3)[3]
    with urllib.request.urlopen(link, timeout=WAIT) as answer:
        check(answer.read() == PICTURE, "the picture is another")

    history = bob.ask("messages/list", chatId=chat_id, count=5, page=0)["messages"]
    check([message["seq"] for message in history] == [31, 30, 29, 28, 27], "history is not newest first")
    bob.ask("messages/markAsRead", messageId=history[0]["id"])
    check(ann.hear("message/read")["seq"] == 31, "the mark is another")
    ann.ask("messages/edit", messageId=history[1]["id"], data="edited")
    check(bob.hear("message/updated")["data"] == "edited", "the edit was not told")
    ann.ask("chats/typing", chatId=chat_id)
    check(bob.hear("typing")["userId"] == names[0], "the typing was not told")

    # Sent without a wish for an answer, it is answered by an event; here nothing is on the client's list for it.
    bob.sio.emit("messages/create", {"chatId": chat_id, "data": "unasked"})
    unasked = ann.hear("message")
    check(unasked["data"] == "unasked", f"instead of what was emitted came {unasked}")

    ann.ask("messages/create", 495, chatId=chat_id + 1_000_000, data="x")
    ann.ask("messages/create", 497, chatId=chat_id)
    ann.ask("chats/kick", chatId=chat_id, userId=names[1])
    system = bob.hear("message")
    check(system["senderUser"] is None, f"a system message of {system['senderUser']}")
    check(json.loads(system["data"]) == {"type": "user.kicked", "userId": names[1]}, f"system message {system}")
    bob.ask("messages/create", 495, chatId=chat_id, data="let me in")

    if MAJOR == 5:
        ann.ask("chats/addMember", chatId=chat_id, userId=names[1])
        back = Person(url, transport, bob_jwt, by="payload", last={str(chat_id): 30})
        missed = back.hear("messages/sync")
        check(missed["messages"], f"nothing was missed: {missed}")
        back.sio.disconnect()
    bob.sio.disconnect()
    ann.sio.disconnect()


def silence(url, transport):
    """Who does not sign in is cut off."""
    client = socketio.Client(reconnection=False)
    ended = queue.Queue()
    client.on("disconnect", lambda *_: ended.put(True))
    client.connect(url, transports=[transport if transport != "upgrade" else "websocket"], **PATIENT)
    began = time.monotonic()
    ended.get(timeout=WAIT)
    check(time.monotonic() - began < WAIT, "a silent client was not cut off")


def main():
    url, transport, ann_jwt, bob_jwt = sys.argv[1:]
    talk(url, transport, ann_jwt, bob_jwt)
    silence(url, transport)


try:
    main()
except BaseException:
    traceback.print_exc()
    # Clients that are connected still would keep the process, and whoever waits for it.
    sys.stderr.flush()
    os._exit(1)
