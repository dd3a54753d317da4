"""A proxy that records requests, so that they can be repeated."""

import http.client
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit


@dataclass(frozen=True)
class RecordedRequest:
    """A request without a body."""

    path: str
    headers: tuple


class Recorder:
    """A proxy to one server that records its GET requests. It serves a few requests, not load."""

    # Fields of one connection, which each sender sets itself.
    OWN = {"host", "connection", "content-length", "transfer-encoding"}

    def __init__(self, url):
        self.requests = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(urlsplit(url).netloc, self.requests))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def _handler(host, requests):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            headers = [(name, value) for name, value in self.headers.items() if name.lower() not in Recorder.OWN]
            requests.append(RecordedRequest(self.path, tuple(headers)))
            self._forward()

        def do_POST(self):
            self._forward()

        def _forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            upstream = http.client.HTTPConnection(host, timeout=10)
            upstream.request(self.command, self.path, body or None, dict(self.headers))
            response = upstream.getresponse()
            content = response.read()
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in Recorder.OWN:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        def log_message(self, *_):
            pass

    return Handler
