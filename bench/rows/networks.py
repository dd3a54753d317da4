"""`/feed` of a user's networks: eight of the sandbox with 400 posts each, and the suite's own.

Fifty users request the 20 newest items, so each feed reads, checks and merges nine pages of 20. In the first part every
network takes 100 ms, and the additional time until the feed is complete counts. Each user requests a feed every other
second; then all users have a request open all the time, which uses the cores fully. In the second part the networks
respond immediately. Beside the feeds, wrk sends the same eight requests directly to the sandbox. The sandbox creates
each response and shares the cores, so a separate row has social's own processor time.
"""

from bench import steady, web, wrk
from bench.networks import NETWORKS, Networks, check_feed, outcomes
from bench.recorder import Recorder
from bench.sandbox import Sandbox
from bench.table import Row

PEOPLE = 50
DELAY = 0.1
STEADY = 25
STEADY_SECONDS = 12
P50, P99 = 105, 120
ROUNDS = 2


def measure(bench):
    with bench.suite("networks") as suite:
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory))
        fixture = _Fixture(suite, sandbox)
        networks = fixture.networks
        networks.delay(DELAY)
        alone = fixture.alone()
        paced = fixture.paced()
        fixture.open_connections()
        many = fixture.feeds()
        networks.clear_rules()
        rates, peers, spent = [], [], []
        for round_ in range(ROUNDS + 1):
            load, milliseconds = fixture.feeds_with_cpu()
            peer = fixture.peer()
            # The first round is a warm-up for both.
            if round_ > 0:
                rates.append(load.rate)
                spent.append(milliseconds)
                peers.append(peer.rate)
    count = len(NETWORKS)
    what = f"feed over {count} networks"
    rate, theirs, own = (sum(values) / ROUNDS for values in (rates, peers, spent))
    return [
        *_limits(f"{what} of {DELAY * 1e3:.0f} ms, {PEOPLE} users, {STEADY} per second", paced),
        Row("the same", "p50, ms", paced.p50, "one network alone", alone.p50, "≤ 5 more", paced.p50 <= alone.p50 + 5),
        *_limits(f"{what} of {DELAY * 1e3:.0f} ms, {PEOPLE} concurrently", many),
        Row(f"{what} without delays, {PEOPLE} concurrently", "feeds/s", rate, ""),
        Row(f"{what} without delays, requests to networks", "requests/s", rate * count, "wrk to the sandbox", theirs),
        Row(f"{what}, social's processor time", "ms CPU per feed", own, ""),
    ]


def _limits(what, load):
    return [
        Row(what, "p50, ms", load.p50, "", None, f"≤ {P50}", load.p50 <= P50),
        Row(what, "p99, ms", load.p99, "", None, f"≤ {P99}", load.p99 <= P99),
    ]


class _Fixture:
    """The suite with fifty users, each with a linked account on every network."""

    def __init__(self, suite, sandbox):
        self.bench, self.suite, self.sandbox = suite.bench, suite, sandbox
        self.networks = Networks(sandbox)
        self.auth = suite.start_auth()
        suite.start_conversations()
        suite.start_photos()
        suite.start_push()
        self.recorded = self._recorded()
        # Background polls are off, so that only the feeds are measured.
        self.social = suite.start_social(**self.networks.settings(polls=0))
        self.jwts = [suite.sign_in(self.auth.url) for _ in range(PEOPLE)]
        for number, jwt in enumerate(self.jwts):
            client = web.Client(self.social.url, jwt)
            self.networks.link_all(client, self.networks.people[number % len(self.networks.people)])
            check_feed(client)

    def _recorded(self):
        """Returns the requests to networks of one feed."""
        with Recorder(self.networks.url) as recorder:
            social = self.suite.start_social(**self.networks.settings(polls=0, base=recorder.url))
            client = web.Client(social.url, self.suite.sign_in(self.auth.url))
            self.networks.link_all(client, self.networks.people[0], base=recorder.url)
            recorder.requests.clear()
            check_feed(client)
            social.program.stop()
        if len(recorder.requests) != len(NETWORKS):
            raise RuntimeError(
                f"a feed makes {len(recorder.requests)} requests: {[one.path for one in recorder.requests]}"
            )
        return recorder.requests

    def feeds(self):
        """Requests as many feeds as possible for all users at once."""
        url, seconds = f"{self.social.url}/feed", self.bench.seconds
        return self._checked(lambda: wrk.run(url, PEOPLE, seconds, script="users.lua", settings=self._people()))

    def paced(self):
        requests = [(f"{self.social.url}/feed", {"Authorization": f"Bearer {jwt}"}) for jwt in self.jwts]
        return self._checked(lambda: steady.run(requests, STEADY, STEADY_SECONDS))

    def alone(self):
        """Requests one network's page for each user from the sandbox, with the same client at the same rate."""
        requests = [(self.networks.url + request.path, dict(request.headers)) for request in self.recorded]
        return steady.run([requests[index % len(requests)] for index in range(PEOPLE)], STEADY, STEADY_SECONDS)

    def open_connections(self):
        """Opens all connections before the measurement, because the sandbox receives hundreds at one address."""
        wrk.run(f"{self.social.url}/feed", PEOPLE, 3, script="users.lua", settings=self._people())

    def _people(self):
        path = self.suite.directory / "people.txt"
        path.write_text("\n".join(self.jwts))
        return {"BENCH_INPUT": str(path)}

    def _checked(self, work):
        """Runs a load of feeds, and fails unless every feed received a response of every network."""
        before = outcomes(self.social)
        load = work()
        after = outcomes(self.social)
        failed = {name: after[name] - before.get(name, 0) for name in after if name != "ok"}
        count = after["ok"] - before["ok"]
        if any(failed.values()) or count < load.requests * (len(NETWORKS) + 1):
            raise RuntimeError(f"{load.requests} feeds sent {count} requests to networks; {failed}")
        return load

    def feeds_with_cpu(self):
        """Runs a load of feeds, and returns it with social's processor time per feed in milliseconds."""
        program = self.social.program
        before = program.cpu_seconds()
        load = self.feeds()
        return load, (program.cpu_seconds() - before) * 1e3 / load.requests

    def peer(self):
        lines = []
        for request in self.recorded:
            lines += [request.path, *(f"{name}: {value}" for name, value in request.headers), ""]
        path = self.suite.directory / "again.txt"
        path.write_text("\n".join(lines) + "\n")
        settings = {"BENCH_INPUT": str(path)}
        return wrk.run(self.networks.url, PEOPLE, self.bench.seconds, script="repeat.lua", settings=settings)
