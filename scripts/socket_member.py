"""A member of a chat with python-socketio 5, who reconnects whenever the connection ends and stores all messages."""

import queue
import threading
import time

import engineio
import socketio

WAIT = 60
# The timeout of a connection attempt in seconds. An attempt at an instance that crashed is repeated.
CONNECT_WAIT = 5


class OrderedEngine(engineio.Client):
    """Handles packets in order. python-engineio starts a thread per packet, and threads may overtake each other."""

    def _trigger_event(self, event, *args, run_async=False, **kwargs):
        return super()._trigger_event(event, *args, run_async=False, **kwargs)


class OrderedClient(socketio.Client):
    """Reports its end even before `connect` has returned, when python-socketio calls no handler."""

    def __init__(self, ended):
        self.ended = ended
        super().__init__(reconnection=False)

    def _engineio_client_class(self):
        return OrderedEngine

    def _handle_eio_disconnect(self, *reason):
        super()._handle_eio_disconnect(*reason)
        self.ended()


class Connection:
    """One connection of a member, from the sign-in to the end."""

    def __init__(self, member):
        self.member = member
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.waiting = set()
        self.held = None
        self.sio = OrderedClient(self._end)
        self.sio.on("message", self._receive)
        self.sio.on("messages/sync", self._receive_missed)
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
            # Messages that arrive while the client reads missed messages are newer, so they are held back.
            self.held, auth = [], None
        self.sio.connect(member.url, transports=[member.transport], auth=auth, wait_timeout=CONNECT_WAIT)
        if member.by != "event":
            return
        self.request("authenticate", authToken=member.jwt)
        after, more = member.last, True
        while more:
            page = self.request("messages/sync", chatId=member.chat, after=after)
            after, more = page["change"], page["more"]
            member.store(page["messages"])
        with self.lock:
            member.store(self.held)
            self.held = None

    def _receive(self, message):
        with self.lock:
            if self.ended.is_set():
                return
            if self.held is not None:
                self.held.append(message)
            else:
                self.member.store([message])

    def _receive_missed(self, page):
        if "resync" in page:
            self.member.failures.append("was requested to reload everything")
        elif not self.ended.is_set():
            self.member.store(page["messages"])

    def request(self, event, **payload):
        """Returns the response. Raises `ConnectionError` when the connection ends first."""
        response = queue.Queue()
        with self.lock:
            if self.ended.is_set():
                raise ConnectionError("ended")
            self.waiting.add(response)
        try:
            self.sio.emit(event, payload, callback=response.put)
            found = response.get(timeout=WAIT)
        # KeyError: the connection ended while the client registered the acknowledgement.
        except (socketio.exceptions.SocketIOError, KeyError) as error:
            raise ConnectionError(str(error)) from error
        finally:
            with self.lock:
                self.waiting.discard(response)
        if found is None or found["code"] == 499:
            raise ConnectionError(f"{event} returned {found}")
        if found["code"] != 200:
            self.member.failures.append(f"{event} returned {found}")
        return found

    def _end(self):
        with self.lock:
            self.ended.set()
            for response in self.waiting:
                response.put(None)

    def close(self):
        self._end()
        self.sio.disconnect()


class Member:
    def __init__(self, url, chat, jwt, transport="websocket", by="payload", last=0):
        self.url, self.chat, self.jwt = url, chat, jwt
        self.transport, self.by, self.last = transport, by, last
        # The seq, text and clientMessageId of each message by id: received, and from responses.
        self.received, self.acknowledged = {}, {}
        # The names of the member's own messages.
        self.own_names = set()
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

    def store(self, messages):
        with self.changed:
            for message in messages:
                self.last = max(self.last, message["change"])
                if message["id"] in self.received:
                    continue
                # A socket does not receive its own message but a response. If the response was lost, the next socket
                # may receive the message after newer messages.
                if message["seq"] <= self.newest and message.get("clientMessageId") not in self.own_names:
                    self.failures.append(f"received {message['seq']} after {self.newest}")
                self.newest = max(self.newest, message["seq"])
                self.received[message["id"]] = self.summary(message)
            self.changed.notify_all()

    @staticmethod
    def summary(message):
        return (message["seq"], message["data"], message.get("clientMessageId"))

    def wait(self, so, limit=WAIT):
        with self.changed:
            return self.changed.wait_for(so, timeout=limit)

    def wait_for_connection(self, limit=WAIT):
        """Returns the connection, and waits for it if necessary."""
        connection = self.wait(lambda: self.connection, limit)
        if not connection:
            raise TimeoutError("did not reconnect")
        return connection

    def request(self, event, **payload):
        """Repeats a request until it succeeds."""
        deadline = time.monotonic() + 2 * WAIT
        while True:
            connection = self.wait_for_connection()
            try:
                return connection.request(event, **payload)
            except (ConnectionError, queue.Empty):
                if time.monotonic() > deadline:
                    raise
                self.repeats += 1
                time.sleep(0.05)

    def send(self, text, name):
        self.own_names.add(name)
        response = self.request("messages/create", chatId=self.chat, data=text, clientMessageId=name)
        with self.changed:
            if "id" in response:
                self.acknowledged[response["id"]] = self.summary(response)

    def seen(self):
        return {**self.received, **self.acknowledged}

    def record(self):
        """Returns all messages of the conversation, oldest first."""
        found, after = [], 0
        while True:
            page = self.request("messages/list", chatId=self.chat, afterSeq=after, count=100)["messages"]
            if not page:
                return found
            found += sorted(page, key=lambda message: message["seq"])
            after = found[-1]["seq"]
