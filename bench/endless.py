"""A Mastodon instance that a user chose. It responds like the sandbox, but its streams never end."""

from threading import Lock
from urllib.parse import urlsplit

from bench.recorder import Recorder

STREAM = "/api/v1/streaming/user"
BLOCK = 65_536


class EndlessInstance(Recorder):
    """Sends `piece` repeatedly to each client that opens a stream, as fast as the client reads."""

    def __init__(self, url, piece):
        super().__init__(url)
        self.streams, self.sent = 0, 0
        self._block = piece * (BLOCK // len(piece))
        self._lock = Lock()
        self.server.RequestHandlerClass = self._handler(self.server.RequestHandlerClass)

    @property
    def address(self):
        return urlsplit(self.url).netloc

    def _handler(self, proxy):
        instance = self

        class Handler(proxy):
            def do_GET(self):
                if urlsplit(self.path).path == STREAM:
                    instance._stream(self)
                else:
                    super().do_GET()

        return Handler

    def _stream(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        with self._lock:
            self.streams += 1
        try:
            while True:
                handler.wfile.write(self._block)
                with self._lock:
                    self.sent += len(self._block)
        except OSError:
            # The client closed the connection.
            pass
