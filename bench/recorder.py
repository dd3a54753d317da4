"""What stands before a server and writes down what it is asked, so that the same can be asked again."""

import http.client
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Asked:
    """A request without a body."""

    path: str
    headers: tuple


class Recorder:
    """A proxy to one server, with what it was asked by GET; for a few requests, not for load."""

    # Of one connection, and made anew by whoever sends a request again.
    OWN = {"host", "connection", "content-length", "transfer-encoding"}

    def __init__(self, url):
        self.asked = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(urlsplit(url).netloc, self.asked))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def _handler(host, asked):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            headers = [(name, value) for name, value in self.headers.items() if name.lower() not in Recorder.OWN]
            asked.append(Asked(self.path, tuple(headers)))
            self._pass_on()

        def do_POST(self):
            self._pass_on()

        def _pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            upstream = http.client.HTTPConnection(host, timeout=10)
            upstream.request(self.command, self.path, body or None, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in Recorder.OWN:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        def log_message(self, *_):
            pass

    return Handler
