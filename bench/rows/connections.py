"""The gateway's memory for an idle connection, in cleartext and over TLS, beside nginx and Traefik.

Each of 5,000 connections has had one response and is then idle.
"""

import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from bench import certificate, web
from bench.peers import nginx, traefik
from bench.processes import free_port
from bench.table import Row

COUNT = 5_000
PATH = "/.well-known/openid-configuration"
REQUEST = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def measure(bench):
    rows = []
    for is_secure in (False, True):
        kilobytes = _measure_memory(bench, is_secure)
        what = "idle connections, " + ("TLS" if is_secure else "cleartext")
        for peer in ("nginx", "traefik"):
            rows.append(Row(f"{COUNT:,} {what}", "kB each", kilobytes["ours"], peer, kilobytes[peer]))
    return rows


def _measure_memory(bench, is_secure):
    name = "tls-connections" if is_secure else "connections"
    with ExitStack() as stack:
        directory = bench.directory(name)
        document = directory / "document.json"
        document.write_text("{}")
        made = certificate.make(directory) if is_secure else None
        suite = stack.enter_context(bench.suite(name.replace("-", "_")))
        auth = suite.start_auth()
        service = f"127.0.0.1:{free_port()}"
        backend = stack.enter_context(nginx.service(directory, int(service[10:]), document, auth.address))
        backend.wait_until(lambda: web.responds(f"http://{service}", PATH))
        gateway = suite.start_gateway(
            event_loops=1, settings=made and made.settings, auth=f"http://{service}", conversations=f"http://{service}"
        )
        targets = {"ours": (gateway.program, gateway.url)}
        for peer in (nginx, traefik):
            port = free_port()
            program = stack.enter_context(peer.proxy(directory, port, service, certificate=made))
            url = f"{'https' if made else 'http'}://127.0.0.1:{port}"
            program.wait_until(lambda url=url: web.responds(url, PATH))
            targets[peer.__name__.rpartition(".")[2]] = (program, url)
        return {
            name: _each(program, int(url.rpartition(":")[2]), is_secure) for name, (program, url) in targets.items()
        }


def _each(program, port, is_secure):
    """Returns the kilobytes that a connection adds to a program."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # The first connections fill caches and pools, which later ones share.
    connections = _open_all(100, port, context if is_secure else None)
    before = program.rss_bytes()
    try:
        connections += _open_all(COUNT, port, context if is_secure else None)
        time.sleep(1)
        return (program.rss_bytes() - before) / COUNT / 1e3
    finally:
        for connection in connections:
            connection.close()


def _open_all(count, port, context):
    """Opens several connections at a time.

    In a response of two packets, the second can wait 40 ms for the acknowledgement of the first (Nagle's algorithm).
    """
    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(lambda _: _open(port, context), range(count)))


def _open(port, context):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    if context:
        connection = context.wrap_socket(connection)
    connection.sendall(REQUEST)
    response = b""
    while b"\r\n\r\n" not in response:
        piece = connection.recv(4_096)
        if not piece:
            raise RuntimeError(f"port {port} closed a connection unexpectedly")
        response += piece
    if b" 200 " not in response.split(b"\r\n", 1)[0]:
        raise RuntimeError(f"port {port}: {response[:100]!r}")
    return connection
