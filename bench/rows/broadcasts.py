"""A broadcast that goes live: from the poll that finds it until push has accepted its event.

Both times are from the database: when social first saw a broadcast, and when push stored the event. A second row has
the time since the broadcast went live, of which up to five seconds are the time until the next poll.
"""

import time

from bench.networks import Networks
from bench.sandbox import Sandbox
from bench.table import Row

ROUNDS = 5
AT_ONCE = 4
TO_PUSH = 1.0
POLL = 5.0


def measure(bench):
    with bench.suite("broadcasts") as suite:
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory))
        networks = Networks(sandbox)
        suite.start_auth()
        for start in (suite.start_conversations, suite.start_photos, suite.start_push):
            start()
        suite.start_social(EVENT_SUBSCRIBERS="broadcast.live=push", **networks.settings(polls=0))
        fixture = _Fixture(suite, networks)
        # One of the sandbox's three initial broadcasts is recent enough for an event.
        fixture.wait_for(lambda: fixture.count("push.event_inbox") == 1, "the first poll")
        delays_to_push, arrived = [], []
        for number in range(ROUNDS):
            delays, whole = fixture.go_live(number)
            delays_to_push += delays
            arrived.append(whole)
    what = f"a broadcast, {len(delays_to_push)} of them"
    return [
        _limit(f"{what}, from the poll to push", max(delays_to_push), TO_PUSH),
        _limit(f"{what}, from going live to push", max(arrived), POLL + TO_PUSH),
    ]


def _limit(what, seconds, most):
    return Row(what, "s, max", seconds, "", None, f"≤ {most:.0f}", seconds <= most)


class _Fixture:
    def __init__(self, suite, networks):
        self.suite, self.networks = suite, networks

    def sql(self, text):
        return self.suite.bench.postgres.sql(self.suite.database, text)

    def count(self, table, condition="true"):
        return int(self.sql(f"SELECT count(*) FROM {table} WHERE {condition}")[0][0])

    def wait_for(self, holds, what):
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > 20:
                raise RuntimeError(f"{what} did not arrive within 20 seconds")
            time.sleep(0.02)
        return time.monotonic() - began

    def go_live(self, number):
        """Starts a few broadcasts at once. Returns the seconds from each poll to push, and from the start to the end."""
        before = self.count("push.event_inbox")
        ids = []
        began = time.monotonic()
        for index in range(AT_ONCE):
            draft = {"broadcaster": f"singer-{number}-{index}", "community": "RedditSessions", "title": "Live"}
            ids.append(self.networks.client.post("/sandbox/broadcasts", draft)["id"])
        self.wait_for(lambda: self.count("push.event_inbox") == before + AT_ONCE, "the events")
        whole = time.monotonic() - began
        names = ", ".join(f"'{name}'" for name in ids)
        rows = self.sql(
            f"""
            SELECT extract(epoch FROM taken_at - (SELECT max(first_seen_at) FROM social.broadcasts
                WHERE broadcast_id IN ({names})))
            FROM push.event_inbox ORDER BY taken_at DESC LIMIT {AT_ONCE}
            """
        )
        return [float(row[0]) for row in rows], whole
