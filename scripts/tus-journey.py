"""Tests a tus server with tuspy and with invalid requests.

tus-journey.py URL SIZE: uploads files of SIZE bytes in several ways. Prints a line for each with the name of the test,
the URL of the upload and the SHA-256 of its bytes. Each request has the header fields of the HEADER_<NAME> environment
variables.
"""

import base64
import hashlib
import io
import os
import socket
import sys
import time
from urllib.parse import urljoin, urlsplit

import requests
from tusclient import client as tus

BASE, SIZE = sys.argv[1], int(sys.argv[2])
OWN = {name[7:].replace("_", "-"): value for name, value in os.environ.items() if name.startswith("HEADER_")}
VERSION = {"Tus-Resumable": "1.0.0"}
PIECE = {**OWN, **VERSION, "Content-Type": "application/offset+octet-stream"}


def content(seed: str) -> bytes:
    """Returns bytes that are the same in each run, or those of the file in CONTENT."""
    if path := os.environ.get("CONTENT"):
        return open(path, "rb").read()
    block = hashlib.sha512(seed.encode()).digest()
    return (block * (SIZE // len(block) + 1))[:SIZE]


def done(what: str, url: str, data: bytes) -> None:
    offset = offset_of(url)
    assert offset == len(data), f"{what}: {offset} of {len(data)}"
    print(what, url, hashlib.sha256(data).hexdigest(), flush=True)


def offset_of(url: str) -> int:
    response = requests.head(url, headers={**OWN, **VERSION}, timeout=30)
    assert response.status_code == 200, response.status_code
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Tus-Resumable"] == "1.0.0"
    return int(response.headers["Upload-Offset"])


def begin(data: bytes, **headers: str) -> str:
    response = requests.post(BASE, headers={**OWN, **VERSION, "Upload-Length": str(len(data)), **headers}, timeout=30)
    assert response.status_code == 201, (response.status_code, response.text)
    return urljoin(BASE, response.headers["Location"])


def patch(url: str, offset: int, piece: bytes, **headers: str) -> requests.Response:
    return requests.patch(url, data=piece, headers={**PIECE, "Upload-Offset": str(offset), **headers}, timeout=60)


def opened(url: str, offset: int, length: int) -> socket.socket:
    """Starts a PATCH without sending its body."""
    parts = urlsplit(url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=60)
    head = {**PIECE, "Host": parts.netloc, "Upload-Offset": str(offset), "Content-Length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    connection.sendall(f"PATCH {parts.path} HTTP/1.1\r\n{lines}\r\n".encode())
    return connection


def status(connection: socket.socket) -> int:
    return int(connection.makefile("rb").readline().split()[1])


def in_pieces() -> None:
    for pieces in (1, 3, 10):
        data = content(f"pieces {pieces}")
        uploader = tus.TusClient(BASE, headers=OWN).uploader(
            file_stream=io.BytesIO(data), chunk_size=len(data) // pieces + 1, metadata={"filename": "kitten.jpg"}
        )
        uploader.upload()
        done(f"pieces-{pieces}", uploader.url, data)


def with_checksums() -> None:
    data = content("checksums")
    uploader = tus.TusClient(BASE, headers=OWN).uploader(
        file_stream=io.BytesIO(data), chunk_size=len(data) // 2, upload_checksum=True
    )
    uploader.upload()
    done("checksums", uploader.url, data)


def at_once() -> None:
    data = content("at once")
    response = requests.post(BASE, data=data, headers={**PIECE, "Upload-Length": str(len(data))}, timeout=60)
    assert response.status_code == 201, (response.status_code, response.text)
    assert response.headers["Upload-Offset"] == str(len(data))
    done("at-once", urljoin(BASE, response.headers["Location"]), data)


def cut_and_resumed() -> None:
    data = content("cut")
    url = begin(data)
    arrived = len(data) // 3
    connection = opened(url, 0, len(data))
    connection.sendall(data[:arrived])
    time.sleep(0.2)
    connection.close()
    deadline = time.monotonic() + 30
    while not (stored := offset_of(url)):
        assert time.monotonic() < deadline, "no bytes of the interrupted connection were stored"
        time.sleep(0.02)
    assert stored <= arrived, stored
    uploader = tus.TusClient(BASE, headers=OWN).uploader(
        file_stream=io.BytesIO(data), url=url, chunk_size=len(data) // 3
    )
    assert uploader.offset == stored
    uploader.upload()
    done("cut", url, data)


def two_at_once() -> None:
    data = content("two")
    url = begin(data)
    first, second = (opened(url, 0, len(data)) for _ in range(2))
    for connection in (first, second):
        connection.sendall(data[: len(data) // 2])
    first.sendall(data[len(data) // 2 :])
    assert status(first) == 204
    # The bytes are the same, but their offset is already written.
    second.sendall(data[len(data) // 2 :])
    assert status(second) == 409
    done("two", url, data)


def refused() -> None:
    data = content("refused")
    half = len(data) // 2
    url = begin(data)
    sha1 = base64.b64encode(hashlib.sha1(data[:half]).digest()).decode()
    for expected, response in (
        (409, patch(url, 1, data[:half])),
        (460, patch(url, 0, data[1 : half + 1], **{"Upload-Checksum": f"sha1 {sha1}"})),
        (400, patch(url, 0, data[:half], **{"Upload-Checksum": f"crc99 {sha1}"})),
        (400, patch(url, -1, data[:half])),
        (415, patch(url, 0, data[:half], **{"Content-Type": "image/jpeg"})),
        (412, patch(url, 0, data[:half], **{"Tus-Resumable": "0.2.2"})),
        (413, patch(url, 0, data + b"x")),
        (404, patch(url[:-1] + ("a" if url[-1] != "a" else "b"), 0, data[:half])),
        (400, requests.post(BASE, headers={**OWN, **VERSION}, timeout=30)),
        (413, requests.post(BASE, headers={**OWN, **VERSION, "Upload-Length": str(1 << 50)}, timeout=30)),
        (400, requests.post(BASE, headers={**OWN, **VERSION, "Upload-Defer-Length": "1"}, timeout=30)),
    ):
        assert response.status_code == expected, (expected, response.status_code, response.text)
        assert response.headers["Tus-Resumable"] == "1.0.0"
        assert response.headers["Content-Type"] == "application/problem+json"
        if expected == 412:
            assert response.headers["Tus-Version"] == "1.0.0"
        assert offset_of(url) == 0
    assert patch(url, 0, data[:half], **{"Upload-Checksum": f"sha1 {sha1}"}).status_code == 204
    assert patch(url, half, data[half:]).status_code == 204
    # The upload is complete.
    assert patch(url, len(data), b"x").status_code == 413
    done("refused", url, data)


def ended() -> None:
    url = begin(content("ended"))
    assert requests.delete(url, headers={**OWN, **VERSION}, timeout=30).status_code == 204
    assert requests.head(url, headers={**OWN, **VERSION}, timeout=30).status_code in (404, 410)
    assert patch(url, 0, b"x").status_code in (404, 410)
    url = begin(content("ended"))
    override = {**OWN, **VERSION, "X-HTTP-Method-Override": "DELETE"}
    assert requests.post(url, headers=override, timeout=30).status_code == 204
    assert requests.head(url, headers={**OWN, **VERSION}, timeout=30).status_code in (404, 410)


def discovered() -> None:
    if "DISCOVERY" in os.environ:
        response = requests.options(BASE, timeout=30)
        assert response.status_code == 204
        assert response.headers["Tus-Version"] == "1.0.0"
        assert int(response.headers["Tus-Max-Size"]) >= SIZE
        extensions = "creation,creation-with-upload,expiration,checksum,termination"
        assert response.headers["Tus-Extension"] == extensions
        assert "sha1" in response.headers["Tus-Checksum-Algorithm"].split(",")


discovered()
in_pieces()
with_checksums()
at_once()
cut_and_resumed()
two_at_once()
refused()
ended()
