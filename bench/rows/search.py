"""Search among a user's million messages: in one long conversation, and in a thousand.

The requests go directly to the service, which verifies the jwt, one search after another. The latency counts.
"""

import time

from bench import web, wrk
from bench.seeding import fill_searched
from bench.table import Row

MESSAGES = 1_000_000
MANY = 1_000
TARGET = 20.0
QUERIES = {
    "a word in all messages": "common",
    "a word in every tenth message": "tenth",
    "a word in ten messages": "rare",
    "a word in no message": "nowhere",
    "two common words": "word12+word34",
    "a prefix of a word": "word1",
}


def measure(bench):
    with bench.suite("search") as suite:
        auth = suite.start_auth()
        conversations = suite.start_conversations(SEARCH_REINDEX_INTERVAL="1")
        rows = []
        for count in (1, MANY):
            user = suite.sign_in_user(auth.url)
            client = web.Client(conversations.url, user["jwt"])
            made = [client.post("/conversations/create", {"label": f"{n}"})["id"] for n in range(count)]
            if made != list(range(made[0], made[0] + count)):
                raise RuntimeError("the conversations' ids are not consecutive")
            fill_searched(bench.postgres, suite.database, made[0], count, MESSAGES)
            _wait_for_index(bench, suite)
            bench.postgres.sql(suite.database, "VACUUM ANALYZE; CHECKPOINT")
            rows += _rows(bench, conversations.url, user, count)
        return rows


def _wait_for_index(bench, suite):
    """Waits until the service has indexed the messages, which it finds when it walks through all conversations."""
    deadline = time.monotonic() + 900
    left = "SELECT count(*) FROM conversations.heads LEFT JOIN conversations.search_marks USING (conversation_id) "
    left += "WHERE last_change > coalesce(indexed_change, 0)"
    while bench.postgres.sql(suite.database, left) != [["0"]]:
        if time.monotonic() > deadline:
            raise RuntimeError("the messages were not indexed within fifteen minutes")
        time.sleep(1)


def _rows(bench, url, user, count):
    where = "one conversation" if count == 1 else f"{count:,} conversations"
    rows = []
    for name, query in QUERIES.items():
        path = f"/conversations/search?q={query}"
        load = wrk.run(url + path, 1, bench.seconds, [f"Authorization: Bearer {user['jwt']}"])
        what = f"search of {MESSAGES:,} in {where}, {name}"
        rows.append(Row(what, "p50, ms", load.p50, ""))
        rows.append(Row(what, "p99, ms", load.p99, "", None, f"≤ {TARGET:.0f} ms", load.p99 <= TARGET))
    return rows
