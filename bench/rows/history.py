"""The 20 newest messages of 100,000 and of a million.

The requests go directly to the service, which verifies the jwt. Beside them pgbench runs the service's statement with
as many clients. The rate must be the same for both sizes.
"""

from statistics import mean

from bench import web, wrk
from bench.seeding import SQL, fill
from bench.table import Row

CONNECTIONS = 32
ROUNDS = 2
SIZES = (100_000, 1_000_000)


def measure(bench):
    with bench.suite("history") as suite:
        auth = suite.start_auth()
        conversations = suite.start_conversations()
        user = suite.sign_in_user(auth.url)
        client = web.Client(conversations.url, user["jwt"])
        made = [client.post("/conversations/create", {"label": f"{size:,} messages"}) for size in SIZES]
        for size, conversation in zip(SIZES, made, strict=True):
            fill(bench.postgres, suite.database, conversation["id"], size)
        bench.postgres.sql(suite.database, "VACUUM ANALYZE; CHECKPOINT")
        _check(client, made)
        ours, theirs = {size: [] for size in SIZES}, {size: [] for size in SIZES}
        for round_ in range(ROUNDS + 1):
            for size, conversation in zip(SIZES, made, strict=True):
                mine = _ours(bench, conversations.url, user, conversation)
                pgbench = _pgbench(bench, suite, user, conversation)
                # The first round is a warm-up for both.
                if round_ > 0:
                    ours[size].append(mine)
                    theirs[size].append(pgbench)
    return _rows(ours, theirs)


def _check(client, made):
    for size, conversation in zip(SIZES, made, strict=True):
        page = client.get(f"/conversations/{conversation['token']}/messages?count=20")["messages"]
        seqs = [message["seq"] for message in page]
        newest = client.get(f"/conversations/{conversation['token']}")["lastMessage"]["seq"]
        if seqs != list(range(newest, newest - 20, -1)) or newest < size:
            raise RuntimeError(f"the newest of {size} messages are {seqs}")


def _ours(bench, url, user, conversation):
    path = f"/conversations/{conversation['token']}/messages?count=20"
    return wrk.run(url + path, CONNECTIONS, bench.seconds, [f"Authorization: Bearer {user['jwt']}"])


def _pgbench(bench, suite, user, conversation):
    return bench.postgres.pgbench(
        suite.database,
        SQL / "history.sql",
        clients=CONNECTIONS,
        seconds=bench.seconds,
        schema="conversations",
        conversation=conversation["id"],
        secret=conversation["token"][:22],
        user=user["userId"],
    )


def _rows(ours, theirs):
    rates = {size: mean(load.rate for load in loads) for size, loads in ours.items()}
    rows = []
    for size, rate in rates.items():
        peer = mean(theirs[size])
        what = f"history, 20 newest of {size:,}"
        rows.append(Row(what, "reads/s", rate, "pgbench", peer, "≥ 0.5 × pgbench", rate >= 0.5 * peer))
        rows.append(Row(what, "p99, ms", mean(load.p99 for load in ours[size]), ""))
    small, large = (rates[size] for size in SIZES)
    rows.append(
        Row(
            "history, 1,000,000 beside 100,000",
            "reads/s",
            large,
            "itself",
            small,
            "flat: ≥ 0.9 ×",
            large >= 0.9 * small,
        )
    )
    return rows
