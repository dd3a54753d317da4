"""tuspy against a server, and what no client does on purpose.

tus-journey.py URL SIZE: uploads files of SIZE bytes in several ways, and prints a line for each: what was done, the URL of
the upload and the SHA-256 of its bytes. HEADER_<NAME> in the environment is sent along with each request.
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
    """Bytes that are the same in each run; with CONTENT, those of that file."""
    if path := os.environ.get("CONTENT"):
        return open(path, "rb").read()
    block = hashlib.sha512(seed.encode()).digest()
    return (block * (SIZE // len(block) + 1))[:SIZE]


def done(what: str, url: str, data: bytes) -> None:
    offset = offset_of(url)
    assert offset == len(data), f"{what}: {offset} of {len(data)}"
    print(what, url, hashlib.sha256(data).hexdigest(), flush=True)


def offset_of(url: str) -> int:
    answer = requests.head(url, headers={**OWN, **VERSION}, timeout=30)
    assert answer.status_code == 200, answer.status_code
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Tus-Resumable"] == "1.0.0"
    return int(answer.headers["Upload-Offset"])


def begin(data: bytes, **headers: str) -> str:
    answer = requests.post(BASE, headers={**OWN, **VERSION, "Upload-Length": str(len(data)), **headers}, timeout=30)
    assert answer.status_code == 201, (answer.status_code, answer.text)
    return urljoin(BASE, answer.headers["Location"])


def patch(url: str, offset: int, piece: bytes, **headers: str) -> requests.Response:
    return requests.patch(url, data=piece, headers={**PIECE, "Upload-Offset": str(offset), **headers}, timeout=60)


def opened(url: str, offset: int, length: int) -> socket.socket:
    """A PATCH whose bytes are still to come."""
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
    answer = requests.post(BASE, data=data, headers={**PIECE, "Upload-Length": str(len(data))}, timeout=60)
    assert answer.status_code == 201, (answer.status_code, answer.text)
    assert answer.headers["Upload-Offset"] == str(len(data))
    done("at-once", urljoin(BASE, answer.headers["Location"]), data)


def cut_and_resumed() -> None:
    data = content("cut")
    url = begin(data)
    arrived = len(data) // 3
    connection = opened(url, 0, len(data))
    connection.sendall(data[:arrived])
    time.sleep(0.2)
    connection.close()
    deadline = time.monotonic() + 30
    while not (kept := offset_of(url)):
        assert time.monotonic() < deadline, "nothing of a connection that broke off was kept"
        time.sleep(0.02)
    assert kept <= arrived, kept
    uploader = tus.TusClient(BASE, headers=OWN).uploader(
        file_stream=io.BytesIO(data), url=url, chunk_size=len(data) // 3
    )
    assert uploader.offset == kept
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
    # Its bytes are the same; but they belong where others are already.
    second.sendall(data[len(data) // 2 :])
    assert status(second) == 409
    done("two", url, data)


def refused() -> None:
    data = content("refused")
    half = len(data) // 2
    url = begin(data)
    sha1 = base64.b64encode(hashlib.sha1(data[:half]).digest()).decode()
    for expected, answer in (
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
        assert answer.status_code == expected, (expected, answer.status_code, answer.text)
        assert answer.headers["Tus-Resumable"] == "1.0.0"
        assert answer.headers["Content-Type"] == "application/problem+json"
        if expected == 412:
            assert answer.headers["Tus-Version"] == "1.0.0"
        assert offset_of(url) == 0
    assert patch(url, 0, data[:half], **{"Upload-Checksum": f"sha1 {sha1}"}).status_code == 204
    assert patch(url, half, data[half:]).status_code == 204
    # Nothing is missing any more.
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
        answer = requests.options(BASE, timeout=30)
        assert answer.status_code == 204
        assert answer.headers["Tus-Version"] == "1.0.0"
        assert int(answer.headers["Tus-Max-Size"]) >= SIZE
        extensions = "creation,creation-with-upload,expiration,checksum,termination"
        assert answer.headers["Tus-Extension"] == extensions
        assert "sha1" in answer.headers["Tus-Checksum-Algorithm"].split(",")


discovered()
in_pieces()
with_checksums()
at_once()
cut_and_resumed()
two_at_once()
refused()
ended()
