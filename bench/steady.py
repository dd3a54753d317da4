"""Requests at a steady rate, by people each of whom has a connection: how long one takes, not how many there can be."""

import http.client
import time
from threading import Thread
from urllib.parse import urlsplit

from bench.load import Load


def run(asks, rate, seconds):
    """GETs, so many a second, by all in turn; a time begins when its request was due, not when it was sent.

    Each person asks the same each time: a URL, with these headers. One that is late makes those after it late, and that
    counts.
    """
    begin = time.perf_counter() + 0.1
    times, failed = [], []
    people = [
        Thread(target=_ask, args=(*ask, begin + place / rate, len(asks) / rate, begin + seconds, times, failed))
        for place, ask in enumerate(asks)
    ]
    for person in people:
        person.start()
    for person in people:
        person.join()
    if failed or not times:
        raise RuntimeError(f"{len(failed)} of {len(times) + len(failed)} requests failed: {failed[:1]}")
    times.sort()
    return Load(len(times), seconds, times[len(times) // 2] * 1e3, times[len(times) * 99 // 100] * 1e3)


def _ask(url, headers, due, pause, end, times, failed):
    where = urlsplit(url)
    target = where.path + (f"?{where.query}" if where.query else "")
    connection = http.client.HTTPConnection(where.netloc, timeout=10)
    while due < end:
        time.sleep(max(0, due - time.perf_counter()))
        try:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                failed.append(answer.status)
            times.append(time.perf_counter() - due)
        except (OSError, http.client.HTTPException) as error:
            failed.append(error)
            connection.close()
        due += pause
    connection.close()
