"""HTTP requests for setup and checks; wrk generates the load."""

import http.client
import json
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit
from urllib.request import urlopen


class Refused(RuntimeError):
    """A response with another status than 2xx."""


class Client:
    """A JSON client with one keep-alive connection."""

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
            response = self._send(method, path, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The service closed the idle connection. The retry opens a new one.
            self.connection.close()
            response = self._send(method, path, body, headers)
        text = response.read()
        if not 200 <= response.status < 300:
            raise Refused(f"{method} {path}: {response.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def _send(self, method, path, body, headers):
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse()

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body):
        return self.request("POST", path, body)


def responds(url, path="/"):
    """Returns whether a GET of the path receives 200, with any TLS certificate."""
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
    """Returns the body of a GET of the path."""
    with urlopen(url + path, timeout=10) as response:
        return response.read().decode()


def listens(port):
    """Returns whether a program accepts connections on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def in_parallel(work, items, workers=8):
    """Returns the results of `work(item)` in the order of the items."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
