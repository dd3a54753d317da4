"""Requests at a constant rate by users with one connection each, which measures latency and not throughput."""

import http.client
import time
from threading import Thread
from urllib.parse import urlsplit

from bench.load import Load


def run(requests, rate, seconds):
    """Sends `rate` GETs per second by all users in turn.

    A latency begins when the request was due, not when it was sent. Each user repeats one request, a URL with header
    fields. A late response delays the user's later requests, which counts.
    """
    begin = time.perf_counter() + 0.1
    times, failed = [], []
    people = [
        Thread(
            target=_send, args=(*request, begin + index / rate, len(requests) / rate, begin + seconds, times, failed)
        )
        for index, request in enumerate(requests)
    ]
    for person in people:
        person.start()
    for person in people:
        person.join()
    if failed or not times:
        raise RuntimeError(f"{len(failed)} of {len(times) + len(failed)} requests failed: {failed[:1]}")
    times.sort()
    return Load(len(times), seconds, times[len(times) // 2] * 1e3, times[len(times) * 99 // 100] * 1e3)


def _send(url, headers, due, pause, end, times, failed):
    where = urlsplit(url)
    target = where.path + (f"?{where.query}" if where.query else "")
    connection = http.client.HTTPConnection(where.netloc, timeout=10)
    while due < end:
        time.sleep(max(0, due - time.perf_counter()))
        try:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                failed.append(response.status)
            times.append(time.perf_counter() - due)
        except (OSError, http.client.HTTPException) as error:
            failed.append(error)
            connection.close()
        due += pause
    connection.close()
