"""A member of a chat by python-socketio 5 who comes back whenever the connection ends, and keeps what was told."""

import queue
import threading
import time

import engineio
import socketio

WAIT = 60
# In which a connection that is open must be answered; who was open at an instance that died tries again.
CONNECT_WAIT = 5


class OrderedEngine(engineio.Client):
    """Hands packets on one after another; python-engineio gives each a thread, which may overtake another."""

    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        return super()._trigger_event(event, *args, run_async=False, **kwargs)


class OrderedClient(socketio.Client):
    """Says when it has ended, even where that is before `connect` has returned; no handler hears of it then."""

    def __init__(self, ended):
        self.ended = ended
        super().__init__(reconnection=False)

    def _engineio_client_class(self):
        return OrderedEngine

    def _handle_eio_disconnect(self, *reason):
        super()._handle_eio_disconnect(*reason)
        self.ended()


class Connection:
    """One connection of a member, from its sign-in to its end."""

    def __init__(self, member):
        self.member = member
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.waiting = set()
        self.held = None
        self.sio = OrderedClient(self._end)
        self.sio.on("message", self._heard)
        self.sio.on("messages/sync", self._missed)
        self.sio.on("disconnect", lambda *_: self._end())
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self):
        member = self.member
        auth = {"token": member.jwt, "last": {str(member.chat): member.last}}
        if member.by == "event":
            # What is told while one reads what was missed is newer than that.
            self.held, auth = [], None
        self.sio.connect(member.url, transports=[member.transport], auth=auth, wait_timeout=CONNECT_WAIT)
        if member.by != "event":
            return
        self.ask("authenticate", authToken=member.jwt)
        known, more = member.last, True
        while more:
            page = self.ask("messages/sync", chatId=member.chat, after=known)
            known, more = page["change"], page["more"]
            member.take(page["messages"])
        with self.lock:
            member.take(self.held)
            self.held = None

    def _heard(self, message):
        with self.lock:
            if self.ended.is_set():
                return
            if self.held is not None:
                self.held.append(message)
            else:
                self.member.take([message])

    def _missed(self, page):
        if "resync" in page:
            self.member.failures.append("was told to read everything anew")
        elif not self.ended.is_set():
            self.member.take(page["messages"])

    def ask(self, event, **payload):
        """The answer; `ConnectionError` where none can come any more."""
        answer = queue.Queue()
        with self.lock:
            if self.ended.is_set():
                raise ConnectionError("ended")
            self.waiting.add(answer)
        try:
            self.sio.emit(event, payload, callback=answer.put)
            found = answer.get(timeout=WAIT)
        # KeyError: it ended while the question was noted beside those that wait for an answer.
        except (socketio.exceptions.SocketIOError, KeyError) as error:
            raise ConnectionError(str(error)) from error
        finally:
            with self.lock:
                self.waiting.discard(answer)
        if found is None or found["code"] == 499:
            raise ConnectionError(f"{event} was answered {found}")
        if found["code"] != 200:
            self.member.failures.append(f"{event} was answered {found}")
        return found

    def _end(self):
        with self.lock:
            self.ended.set()
            for answer in self.waiting:
                answer.put(None)

    def close(self):
        self._end()
        self.sio.disconnect()


class Member:
    def __init__(self, url, chat, jwt, transport="websocket", by="payload", last=0):
        self.url, self.chat, self.jwt = url, chat, jwt
        self.transport, self.by, self.last = transport, by, last
        # Of each message its seq, text and clientMessageId, by id.
        self.told, self.answered = {}, {}
        # The names of its own messages.
        self.said = set()
        self.newest = 0
        self.failures = []
        self.returns = -1
        self.repeats = 0
        self.changed = threading.Condition()
        self.connection = None
        threading.Thread(target=self._stay, daemon=True).start()

    def _stay(self):
        while True:
            try:
                connection = Connection(self)
            except (ConnectionError, queue.Empty, socketio.exceptions.SocketIOError, KeyError):
                time.sleep(0.1)
                continue
            with self.changed:
                self.connection = connection
                self.returns += 1
                self.changed.notify_all()
            connection.ended.wait()
            with self.changed:
                self.connection = None

    def take(self, messages):
        with self.changed:
            for message in messages:
                self.last = max(self.last, message["change"])
                if message["id"] in self.told:
                    continue
                # A socket does not receive its own message but the answer. Where that was lost, the next socket may receive
                # the message after others that the last socket received.
                if message["seq"] <= self.newest and message.get("clientMessageId") not in self.said:
                    self.failures.append(f"was told {message['seq']} after {self.newest}")
                self.newest = max(self.newest, message["seq"])
                self.told[message["id"]] = self.kept(message)
            self.changed.notify_all()

    @staticmethod
    def kept(message):
        return (message["seq"], message["data"], message.get("clientMessageId"))

    def wait(self, so, limit=WAIT):
        with self.changed:
            return self.changed.wait_for(so, timeout=limit)

    def here(self, limit=WAIT):
        """The connection there is, or will be."""
        connection = self.wait(lambda: self.connection, limit)
        if not connection:
            raise TimeoutError("did not come back")
        return connection

    def ask(self, event, **payload):
        """Again until it is answered."""
        deadline = time.monotonic() + 2 * WAIT
        while True:
            connection = self.here()
            try:
                return connection.ask(event, **payload)
            except (ConnectionError, queue.Empty):
                if time.monotonic() > deadline:
                    raise
                self.repeats += 1
                time.sleep(0.05)

    def say(self, text, name):
        self.said.add(name)
        answer = self.ask("messages/create", chatId=self.chat, data=text, clientMessageId=name)
        with self.changed:
            if "id" in answer:
                self.answered[answer["id"]] = self.kept(answer)

    def seen(self):
        return {**self.told, **self.answered}

    def record(self):
        """All that was said, oldest first."""
        found, after = [], 0
        while True:
            page = self.ask("messages/list", chatId=self.chat, afterSeq=after, count=100)["messages"]
            if not page:
                return found
            found += sorted(page, key=lambda message: message["seq"])
            after = found[-1]["seq"]
