"""A broadcast that goes live: from the poll that saw it until push has taken it, over the events' way.

Both moments are the database's: when social first saw a stream, and when push noted the event. Beside that how long it
takes from going live, of which up to five seconds are the time until the next poll.
"""

import time

from bench.networks import Networks
from bench.sandbox import Sandbox
from bench.table import Row

ROUNDS = 5
AT_ONCE = 4
HANDED_OVER = 1.0
POLL = 5.0


def measure(bench):
    with bench.suite("broadcasts") as suite:
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory))
        networks = Networks(sandbox)
        suite.start_auth()
        for start in (suite.start_conversations, suite.start_photos, suite.start_push):
            start()
        suite.start_social(EVENT_SUBSCRIBERS="broadcast.live=push", **networks.settings(polls=0))
        scene = _Scene(suite, networks)
        # Of the three that the sandbox begins with one is not yet old news.
        scene.wait_for(lambda: scene.count("push.event_inbox") == 1, "the first poll")
        handed, arrived = [], []
        for number in range(ROUNDS):
            delays, whole = scene.go_live(number)
            handed += delays
            arrived.append(whole)
    what = f"a broadcast, {len(handed)} of them"
    return [
        _limit(f"{what}, from the poll to push", max(handed), HANDED_OVER),
        _limit(f"{what}, from going live to push", max(arrived), POLL + HANDED_OVER),
    ]


def _limit(what, seconds, most):
    return Row(what, "s at most", seconds, "", None, f"≤ {most:.0f}", seconds <= most)


class _Scene:
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
                raise RuntimeError(f"{what} did not come in 20 seconds")
            time.sleep(0.02)
        return time.monotonic() - began

    def go_live(self, number):
        """Seconds from the poll to push, of each of a few that begin at once; and from their beginning on."""
        known = self.count("push.event_inbox")
        ids = []
        began = time.monotonic()
        for place in range(AT_ONCE):
            draft = {"broadcaster": f"singer-{number}-{place}", "community": "RedditSessions", "title": "Live"}
            ids.append(self.networks.client.post("/sandbox/broadcasts", draft)["id"])
        self.wait_for(lambda: self.count("push.event_inbox") == known + AT_ONCE, "the events")
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
