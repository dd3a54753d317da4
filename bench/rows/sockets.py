"""Socket.IO over WebSockets: what one room's members hear, and what a socket takes that only waits.

The library first, as `socketio-echo` with one event loop on the first core, the load on the second, beside
python-socketio on aiohttp in the same place. Then the whole way: members of one conversation signed in by their jwts,
each message on disk before it is heard, straight from conversations and through the gateway.

Messages are 100 bytes of text. "At once" keeps 64 under way; "alone" says one when all have heard the one before.
"""

import time
from contextlib import ExitStack, contextmanager
from statistics import median

from bench import web
from bench.peers import python_socketio
from bench.processes import Program, free_port
from bench.sockets import Clients
from bench.table import Row

SERVER, LOAD = ("taskset", "-c", "0"), ("taskset", "-c", "1")
UNDER_WAY = 64
# By the number of clients: delivered a second, µs CPU each; and at how many delivered a second which p99 in ms.
TARGETS = {100: (400e3, 2.5, 10_000, 2), 1_000: (300e3, 3, 20_000, 12)}
ALONE = 9
FACTOR = 20
IDLE = 10_000
IDLE_KB = 8
# It takes a few hundred new ones a second.
IDLE_PEER = 2_000
MEMBERS = 100
IDLE_MEMBERS = 5_000
CHAT_RATE = 50
PEER = "python-socketio"


def measure(bench):
    return _library(bench) + _idle_library(bench) + _whole_way(bench)


def _p99(bench, clients, rate, *programs):
    """The median of three rounds: a tail is of the machine's other work as much as of ours."""
    seconds = max(1, bench.seconds // 2)
    return median(clients.rate(rate, seconds, *programs).load.p99 for _ in range(3))


# The library


@contextmanager
def _servers(bench, name):
    """Ours and the peer's, each with its port."""
    directory = bench.directory(name)
    with ExitStack() as stack:
        port = free_port()
        command = [*SERVER, bench.binaries / "socketio-echo", "--port", port]
        ours = stack.enter_context(Program("socketio-echo", command, directory))
        ours.wait_until(lambda: web.listens(port))
        other = free_port()
        peer = stack.enter_context(python_socketio.start(directory, other, SERVER))
        peer.wait_until(lambda: web.listens(other))
        yield (ours, port), (peer, other)


def _room(bench, port, clients):
    return Clients(
        bench.binaries,
        port,
        clients,
        LOAD,
        senders=8,
        join='420["join","bench"]',
        ready="430",
        send='42["publish","bench","%"]',
        expect='42["published",',
    )


def _library(bench):
    rows = []
    with _servers(bench, "sockets") as ((ours, port), (peer, other)):
        for clients, (rate, cpu, paced, p99) in TARGETS.items():
            with _room(bench, port, clients) as room:
                room.window(UNDER_WAY, 1, ours)
                at_once = room.window(UNDER_WAY, bench.seconds, ours)
                alone = room.window(1, bench.seconds, ours)
                latency = _p99(bench, room, paced // clients, ours)
            with _room(bench, other, clients) as room:
                theirs = room.window(UNDER_WAY, bench.seconds, peer)
                theirs_alone = room.window(1, bench.seconds, peer)
            what = f"one room, {clients:,} sockets"
            used, theirs_used = at_once.cpu[ours.name], theirs.cpu[peer.name]
            alone_used, theirs_alone_used = alone.cpu[ours.name], theirs_alone.cpu[peer.name]
            is_ahead = at_once.rate >= max(rate, FACTOR * theirs.rate)
            to_reach = f"≥ {rate / 1e3:.0f} k, ≥ {FACTOR} ×"
            rows += [
                Row(f"{what}, at once", "delivered/s", at_once.rate, PEER, theirs.rate, to_reach, is_ahead),
                Row(f"{what}, at once", "µs CPU each", used, PEER, theirs_used, f"≤ {cpu}", used <= cpu),
                Row(
                    f"{what}, alone",
                    "µs CPU each",
                    alone_used,
                    PEER,
                    theirs_alone_used,
                    f"≤ {ALONE}",
                    alone_used <= ALONE,
                ),
                Row(f"{what}, {paced:,}/s", "p99, ms", latency, "", None, f"≤ {p99}", latency <= p99),
            ]
    return rows


def _idle_library(bench):
    with _servers(bench, "idle-sockets") as servers:
        ours, theirs = (
            _each([program], lambda count, port=port: _room(bench, port, count), total)[program.name]
            for (program, port), total in zip(servers, (IDLE, IDLE_PEER), strict=True)
        )
    peer = f"{PEER}, {IDLE_PEER:,}"
    return [Row(f"{IDLE:,} idle sockets", "kB each", ours, peer, theirs, f"≤ {IDLE_KB}", ours <= IDLE_KB)]


def _each(programs, connect, count):
    """Kilobytes that a socket adds to each program, without what the first hundred bring along for all."""
    with connect(100):
        before = [program.rss_bytes() for program in programs]
        with connect(count):
            time.sleep(1)
            return {
                program.name: (program.rss_bytes() - start) / count / 1e3
                for program, start in zip(programs, before, strict=True)
            }


# The whole way


def _whole_way(bench):
    rows = []
    with bench.suite("sockets") as suite:
        auth = suite.start_auth()
        conversations = suite.start_conversations(RATE_SOCKET="0", SOCKETS_PER_USER_MAX="100")
        gateway = suite.start_gateway()
        users = web.in_parallel(lambda _: suite.sign_in_user(auth.url), range(MEMBERS))
        draft = {"label": "sockets", "members": [user["userId"] for user in users]}
        chat = web.Client(conversations.url, users[0]["jwt"]).post("/conversations/create", draft)["id"]
        connects = suite.directory / "connects.txt"
        connects.write_text("".join(f'40{{"token":"{user["jwt"]}"}}\n' for user in users))
        for where, entrance in (("direct", conversations), ("through the gateway", gateway)):
            programs = {conversations.program, entrance.program}
            with _members(bench, entrance, MEMBERS, connects, chat) as members:
                members.window(UNDER_WAY, 1, *programs)
                at_once = members.window(UNDER_WAY, bench.seconds, *programs)
                latency = _p99(bench, members, CHAT_RATE, *programs)
            what = f"one conversation, {MEMBERS} members, on disk, {where}"
            paced = f"{CHAT_RATE * (MEMBERS - 1):,}/s"
            rows.append(Row(f"{what}, at once", "delivered/s", at_once.rate, ""))
            rows += [Row(f"{what}, at once", f"µs CPU each, {name}", it, "") for name, it in at_once.cpu.items()]
            rows.append(Row(f"{what}, {paced}", "p99 from send, ms", latency, ""))

        def connect(count):
            return _members(bench, gateway, count, connects, chat)

        weights = _each([conversations.program, gateway.program], connect, IDLE_MEMBERS)
        rows += [
            Row(f"{IDLE_MEMBERS:,} idle sockets through the gateway", f"kB each, {name}", weight, "")
            for name, weight in weights.items()
        ]
        _check(bench, suite)
    return rows


def _members(bench, entrance, count, connects, chat):
    return Clients(
        bench.binaries,
        int(entrance.url.rpartition(":")[2]),
        count,
        connects=connects,
        ready='42["authenticate",{"code":200',
        send=f'42#["messages/create",{{"chatId":{chat},"data":"%","mime":"text/plain","encoding":"utf8"}}]',
        expect='42["message",',
    )


def _check(bench, suite):
    """A speed that loses messages is none: the conversation is numbered without a gap."""
    count = bench.postgres.sql(suite.database, "SELECT count(*), max(seq) FROM conversations.messages")[0]
    if count[0] != count[1]:
        raise RuntimeError(f"{count[0]} messages, the last numbered {count[1]}")
