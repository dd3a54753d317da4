"""The few HTTP requests that set a scene up; load comes from wrk."""

import http.client
import json
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit
from urllib.request import urlopen


class Refused(RuntimeError):
    """An answer that is no success."""


class Client:
    """One keep-alive connection that speaks JSON."""

    def __init__(self, url, token=None):
        self.host = urlsplit(url).netloc
        self.token = token
        self.connection = http.client.HTTPConnection(self.host, timeout=30)

    def request(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        try:
            answer = self._ask(method, path, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # Not used for as long as a service keeps one; the next is a new one.
            self.connection.close()
            answer = self._ask(method, path, body, headers)
        text = answer.read()
        if not 200 <= answer.status < 300:
            raise Refused(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def _ask(self, method, path, body, headers):
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse()

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body):
        return self.request("POST", path, body)


def answers(url, path="/"):
    """Whether a GET of the path is answered with 200, whatever certificate is shown."""
    where = urlsplit(url)
    if where.scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(where.netloc, timeout=1, context=context)
    else:
        connection = http.client.HTTPConnection(where.netloc, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def text(url, path):
    """What a GET of the path is answered with."""
    with urlopen(url + path, timeout=10) as answer:
        return answer.read().decode()


def listens(port):
    """Whether somebody takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def in_parallel(work, items, workers=8):
    """The results of `work(item)` in the items' order."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
