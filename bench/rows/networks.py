"""`/feed` of one's networks: eight that the sandbox plays, each with 400 posts, and the suite's own.

Fifty people ask, each for the 20 newest of all, so each feed is nine pages of 20 read, checked and merged. Once every
network takes 100 ms: what counts is how much later than those the feed is there, where each of the fifty asks every
other second, and where all have a request under way all the time, which is as much as the cores can do. Once the
networks answer at once: beside the feeds the same eight requests, as social sends them, go straight to the sandbox. It
makes each answer anew and shares the cores, so what social itself takes stands beside the rates.
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
        scene = _Scene(suite, sandbox)
        networks = scene.networks
        networks.delay(DELAY)
        alone = scene.alone()
        paced = scene.paced()
        scene.open_connections()
        many = scene.feeds()
        networks.clear_rules()
        rates, peers, spent = [], [], []
        for round_ in range(ROUNDS + 1):
            load, milliseconds = scene.weighed()
            peer = scene.peer()
            # The first round warms both up.
            if round_ > 0:
                rates.append(load.rate)
                spent.append(milliseconds)
                peers.append(peer.rate)
    count = len(NETWORKS)
    what = f"feed over {count} networks"
    rate, theirs, own = (sum(values) / ROUNDS for values in (rates, peers, spent))
    return [
        *_limits(f"{what} of {DELAY * 1e3:.0f} ms, {PEOPLE} people, {STEADY} a second", paced),
        Row("the same", "p50, ms", paced.p50, "one network alone", alone.p50, "≤ 5 more", paced.p50 <= alone.p50 + 5),
        *_limits(f"{what} of {DELAY * 1e3:.0f} ms, {PEOPLE} at once", many),
        Row(f"{what} that answer at once, {PEOPLE} at once", "feeds/s", rate, ""),
        Row(f"{what} that answer at once, their requests", "requests/s", rate * count, "wrk at the sandbox", theirs),
        Row(f"{what}, of social's own", "ms CPU a feed", own, ""),
    ]


def _limits(what, load):
    return [
        Row(what, "p50, ms", load.p50, "", None, f"≤ {P50}", load.p50 <= P50),
        Row(what, "p99, ms", load.p99, "", None, f"≤ {P99}", load.p99 <= P99),
    ]


class _Scene:
    """The suite with fifty people, each of whom has linked an account on every network."""

    def __init__(self, suite, sandbox):
        self.bench, self.suite, self.sandbox = suite.bench, suite, sandbox
        self.networks = Networks(sandbox)
        self.auth = suite.start_auth()
        suite.start_conversations()
        suite.start_photos()
        suite.start_push()
        self.recorded = self._recorded()
        # Nobody is looked at in the background meanwhile: these are the feeds alone.
        self.social = suite.start_social(**self.networks.settings(polls=0))
        self.jwts = [suite.sign_in(self.auth.url) for _ in range(PEOPLE)]
        for number, jwt in enumerate(self.jwts):
            client = web.Client(self.social.url, jwt)
            self.networks.link_all(client, self.networks.people[number % len(self.networks.people)])
            check_feed(client)

    def _recorded(self):
        """The requests that a feed makes."""
        with Recorder(self.networks.url) as recorder:
            social = self.suite.start_social(**self.networks.settings(polls=0, base=recorder.url))
            client = web.Client(social.url, self.suite.sign_in(self.auth.url))
            self.networks.link_all(client, self.networks.people[0], base=recorder.url)
            recorder.asked.clear()
            check_feed(client)
            social.program.stop()
        if len(recorder.asked) != len(NETWORKS):
            raise RuntimeError(f"a feed makes {len(recorder.asked)} requests: {[one.path for one in recorder.asked]}")
        return recorder.asked

    def feeds(self):
        """As many feeds as there can be by all people at once."""
        url, seconds = f"{self.social.url}/feed", self.bench.seconds
        return self._checked(lambda: wrk.run(url, PEOPLE, seconds, script="users.lua", settings=self._people()))

    def paced(self):
        asks = [(f"{self.social.url}/feed", {"Authorization": f"Bearer {jwt}"}) for jwt in self.jwts]
        return self._checked(lambda: steady.run(asks, STEADY, STEADY_SECONDS))

    def alone(self):
        """One network's page for each, straight from the sandbox, by the same client at the same rate."""
        asks = [(self.networks.url + asked.path, dict(asked.headers)) for asked in self.recorded]
        return steady.run([asks[place % len(asks)] for place in range(PEOPLE)], STEADY, STEADY_SECONDS)

    def open_connections(self):
        """Hundreds of connections at once to one place are no network's; all are there before anything is measured."""
        wrk.run(f"{self.social.url}/feed", PEOPLE, 3, script="users.lua", settings=self._people())

    def _people(self):
        path = self.suite.directory / "people.txt"
        path.write_text("\n".join(self.jwts))
        return {"BENCH_INPUT": str(path)}

    def _checked(self, work):
        """A load of feeds, in which every network was asked by each and answered."""
        before = outcomes(self.social)
        load = work()
        after = outcomes(self.social)
        failed = {name: after[name] - before.get(name, 0) for name in after if name != "ok"}
        asked = after["ok"] - before["ok"]
        if any(failed.values()) or asked < load.requests * (len(NETWORKS) + 1):
            raise RuntimeError(f"{load.requests} feeds asked networks {asked} times; {failed}")
        return load

    def weighed(self):
        """A load of feeds, and social's processor time for each in milliseconds."""
        program = self.social.program
        before = program.cpu_seconds()
        load = self.feeds()
        return load, (program.cpu_seconds() - before) * 1e3 / load.requests

    def peer(self):
        lines = []
        for asked in self.recorded:
            lines += [asked.path, *(f"{name}: {value}" for name, value in asked.headers), ""]
        path = self.suite.directory / "again.txt"
        path.write_text("\n".join(lines) + "\n")
        settings = {"BENCH_INPUT": str(path)}
        return wrk.run(self.networks.url, PEOPLE, self.bench.seconds, script="repeat.lua", settings=settings)
