"""A broadcast to 100,000 users who have it as a favourite: the time until APNs has the first and the last notification.

APNs is the sandbox, over HTTP/2 and TLS on the same cores, which validates each request as Apple does. A second
broadcast, which all users have disabled, measures only the send decisions, each of which is logged.
"""

import time
import uuid
from datetime import UTC, datetime

from bench import web
from bench.sandbox import Sandbox
from bench.seeding import SQL
from bench.service_token import service_token
from bench.table import Row

PEOPLE = 100_000
FIRST_WITHIN = 1
ALL_WITHIN = 20
DECIDED = 20_000
MEMORY = 200e6


def measure(bench):
    with bench.suite("push") as suite:
        suite.start_auth()
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory))
        push = suite.start_push(**sandbox.settings())
        text = (SQL / "push.sql").read_text().replace(":people", str(PEOPLE))
        bench.postgres.sql(suite.database, text)
        bench.postgres.sql(suite.database, "CHECKPOINT")
        decided = _decide(bench, suite, push)
        bench.postgres.sql(suite.database, "CHECKPOINT")
        first, last, memory = _send(suite, push, sandbox)
        _check(bench, suite, sandbox)
    what = f"a broadcast to {PEOPLE:,} favourites"
    return [
        Row(
            f"{what}, send decisions",
            "users/s",
            PEOPLE / decided,
            "",
            None,
            f"≥ {DECIDED:,}",
            PEOPLE / decided >= DECIDED,
        ),
        Row(f"{what}, first delivered", "s", first, "", None, f"≤ {FIRST_WITHIN}", first <= FIRST_WITHIN),
        Row(f"{what}, all delivered", "s", last, "", None, f"≤ {ALL_WITHIN}", last <= ALL_WITHIN),
        Row(
            f"{what}, push's peak memory",
            "MB PSS",
            memory / 1e6,
            "",
            None,
            f"≤ {MEMORY / 1e6:.0f}",
            memory <= MEMORY,
        ),
    ]


def _go_live(suite, push, broadcaster, community):
    live = {
        "streamId": str(uuid.uuid4()),
        "broadcaster": broadcaster,
        "title": "Live from the bench",
        "url": "https://example.org/live",
        "community": community,
        "startedAt": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    event = {"id": str(uuid.uuid4()), "type": "broadcast.live", "at": live["startedAt"], "content": live}
    token = service_token(suite.secrets["SERVICE_SECRET"], "social", "push")
    web.Client(push.url, token).post("/internal/events", event)


def _decide(bench, suite, push):
    """Returns the seconds until the notification is withheld from every user."""
    began = time.monotonic()
    _go_live(suite, push, "drummer", "RedditSets")
    while _withheld(bench, suite) < PEOPLE:
        _check_deadline(began, "decided")
        time.sleep(0.05)
    return time.monotonic() - began


def _withheld(bench, suite):
    query = "SELECT coalesce(sum(withheld), 0) FROM push.notifications WHERE about = 'drummer'"
    return int(bench.postgres.sql(suite.database, query)[0][0])


def _send(suite, push, sandbox):
    """Returns the seconds until APNs has the first and the last notification, and push's peak memory."""
    began = time.monotonic()
    _go_live(suite, push, "pianist", "RedditSessions")
    first, memory = None, 0
    while True:
        accepted = sandbox.counts()["accepted"]
        if accepted and first is None:
            first = time.monotonic() - began
        if accepted >= PEOPLE:
            return first, time.monotonic() - began, memory
        memory = max(memory, push.program.pss_bytes())
        _check_deadline(began, "delivered")
        time.sleep(0.02 if first is None else 0.2)


def _check_deadline(began, what):
    if time.monotonic() - began > 120:
        raise RuntimeError(f"not all were {what} in two minutes")


def _check(bench, suite, sandbox):
    """Fails unless each notification arrived once and is in the log."""
    counts = sandbox.counts()
    if counts["distinct"] != PEOPLE or counts["duplicates"]:
        raise RuntimeError(f"the sandbox received {counts}")
    time.sleep(1)
    query = "SELECT count(*) FROM push.log WHERE outcome = 'sent'"
    if bench.postgres.sql(suite.database, query) != [[str(PEOPLE)]]:
        raise RuntimeError("the log does not have all notifications")
