"""Messages that are flushed to disk before they are acknowledged: to one conversation, and to a thousand.

The requests go through the gateway, from 32 and from 128 concurrent connections. Beside them as many clients of pgbench
run the service's statements for a single message directly on the same PostgreSQL, which is the rate without batches.
"""

import time
from statistics import mean

from bench import web, wrk
from bench.seeding import SQL, conversations_for_pgbench
from bench.table import Row

SENDERS = 128
MANY = 1_000
ROUNDS = 2
# The required factors of pgbench's rate, by the number of conversations and of senders.
TARGETS = {(1, 32): 3, (1, 128): 3, (MANY, 32): 0.8, (MANY, 128): 1}


def measure(bench):
    with bench.suite("sends") as suite:
        _, conversations, gateway = suite.start_all()
        users = web.in_parallel(lambda _: suite.sign_in_user(gateway.url), range(SENDERS))
        tokens = _create(gateway.url, users)
        first = conversations_for_pgbench(bench.postgres, suite.database, MANY, SENDERS)
        rows = []
        for (count, senders), factor in TARGETS.items():
            ours, theirs = [], []
            for round_ in range(ROUNDS):
                bench.postgres.sql(suite.database, "CHECKPOINT")
                ours.append(_send(bench, gateway.url, tokens[:count], users[:senders], f"{count}-{senders}-{round_}"))
                bench.postgres.sql(suite.database, "CHECKPOINT")
                theirs.append(_pgbench(bench, suite, first, count, senders))
            rows += _rows(count, senders, factor, ours, mean(theirs))
        _check(bench, suite)
    return rows


def _create(url, users):
    """Creates all conversations with every user as a member, and returns their tokens."""
    creators = [web.Client(url, user["jwt"]) for user in users[:8]]
    members = [user["userId"] for user in users]

    def create(creator):
        draft = {"members": members}
        return [
            creators[creator].post("/conversations/create", {"label": f"bench {number}", **draft})["token"]
            for number in range(creator, MANY, len(creators))
        ]

    return [token for tokens in web.in_parallel(create, range(len(creators))) for token in tokens]


def _send(bench, url, tokens, users, run):
    input_path = bench.home / f"send-{run}-{time.monotonic_ns()}.txt"
    input_path.write_text(" ".join(tokens) + "\n" + " ".join(user["jwt"] for user in users) + "\n")
    settings = {"BENCH_INPUT": str(input_path), "BENCH_RUN": input_path.stem}
    return wrk.run(url, len(users), bench.seconds, script="send.lua", settings=settings)


def _pgbench(bench, suite, first, count, senders):
    return bench.postgres.pgbench(
        suite.database,
        SQL / "send-segment.sql",
        clients=senders,
        seconds=bench.seconds,
        schema="conversations",
        first=first,
        last=first + count - 1,
        senders=SENDERS,
    )


def _rows(count, senders, factor, ours, theirs):
    where = "one conversation" if count == 1 else f"{count:,} conversations"
    what = f"durable send, {senders} senders, {where}"
    rate = mean(load.rate for load in ours)
    return [
        Row(what, "messages/s", rate, "pgbench", theirs, f"≥ {factor} × pgbench", rate >= factor * theirs),
        Row(what, "p99, ms", mean(load.p99 for load in ours), ""),
    ]


def _check(bench, suite):
    """Fails if a conversation's sequence numbers have a gap, because then messages were lost."""
    gaps = bench.postgres.sql(
        suite.database,
        """
        SET search_path = conversations;
        SELECT count(*) FROM (
            SELECT conversation_id FROM messages GROUP BY conversation_id HAVING count(*) <> max(seq)
        ) AS gaps
        """,
    )
    if gaps != [["0"]]:
        raise RuntimeError(f"{gaps[0][0]} conversations have gaps")
