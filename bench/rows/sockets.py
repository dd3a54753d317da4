"""Socket.IO over WebSocket: deliveries to the members of a room, and the memory of an idle socket.

The first part measures the library: `socketio-echo` with one event loop on the first core and the load on the second,
beside python-socketio on aiohttp with the same cores. The second part measures the service: members of a conversation
who are signed in by their jwts, with each message flushed before its delivery, directly and through the gateway.
Messages are 100 bytes of text. "At once" keeps 64 in flight; "alone" sends one when all have received the previous one.
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
IN_FLIGHT = 64
# By the number of clients: deliveries per second, µs CPU each; and a rate of deliveries with its p99 in ms.
TARGETS = {100: (400e3, 2.5, 10_000, 2), 1_000: (300e3, 3, 20_000, 12)}
ALONE = 9
FACTOR = 20
IDLE = 10_000
IDLE_KB = 8
# python-socketio accepts only a few hundred connections per second.
IDLE_PEER = 2_000
MEMBERS = 100
IDLE_MEMBERS = 5_000
CHAT_RATE = 50
PEER = "python-socketio"


def measure(bench):
    return _library(bench) + _idle_library(bench) + _service(bench)


def _p99(bench, clients, rate, *programs):
    """Returns the median of three rounds, because other work of the machine affects p99 as much as the server does."""
    seconds = max(1, bench.seconds // 2)
    return median(clients.rate(rate, seconds, *programs).load.p99 for _ in range(3))


# The library


@contextmanager
def _servers(bench, name):
    """Starts socketio-echo and the peer, and yields each with its port."""
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
                room.window(IN_FLIGHT, 1, ours)
                at_once = room.window(IN_FLIGHT, bench.seconds, ours)
                alone = room.window(1, bench.seconds, ours)
                latency = _p99(bench, room, paced // clients, ours)
            with _room(bench, other, clients) as room:
                theirs = room.window(IN_FLIGHT, bench.seconds, peer)
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
    """Returns the kilobytes that a socket adds to each program, after a hundred sockets that fill shared caches."""
    with connect(100):
        before = [program.rss_bytes() for program in programs]
        with connect(count):
            time.sleep(1)
            return {
                program.name: (program.rss_bytes() - start) / count / 1e3
                for program, start in zip(programs, before, strict=True)
            }


# The service


def _service(bench):
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
                members.window(IN_FLIGHT, 1, *programs)
                at_once = members.window(IN_FLIGHT, bench.seconds, *programs)
                latency = _p99(bench, members, CHAT_RATE, *programs)
            what = f"one conversation, {MEMBERS} members, on disk, {where}"
            paced = f"{CHAT_RATE * (MEMBERS - 1):,}/s"
            rows.append(Row(f"{what}, at once", "delivered/s", at_once.rate, ""))
            rows += [Row(f"{what}, at once", f"µs CPU each, {name}", cost, "") for name, cost in at_once.cpu.items()]
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
    """Fails if the conversation's sequence numbers have a gap, because then messages were lost."""
    count = bench.postgres.sql(suite.database, "SELECT count(*), max(seq) FROM conversations.messages")[0]
    if count[0] != count[1]:
        raise RuntimeError(f"{count[0]} messages, but the last has seq {count[1]}")
