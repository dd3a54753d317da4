"""10,000 linked accounts of 1,250 users, polled by one instance for changes that networks do not push.

More lists are due than the networks' budgets allow, and social must use the budgets fully without exceeding them. The
same must hold while every twelfth Mastodon account never responds. The last row has no budgets: the most polls of one
instance when networks respond immediately. All accounts are the same twelve on the networks, which social cannot know.
"""

import time

from bench import web
from bench.networks import NETWORKS, Networks, metric, outcomes
from bench.sandbox import Sandbox
from bench.table import Row

PEOPLE = 1_250
# Polls per hour, the defaults in docs/settings.md.
BUDGETS = {
    "facebook": 4_000,
    "twitter": 3_000,
    "instagram": 4_000,
    "vine": 1_800,
    "tumblr": 900,
    "reddit": 5_000,
    "mastodon": 30_000,
    "bluesky": 30_000,
}
SECONDS = 30
UNLIMITED = 10_000_000
LEAST = 0.95


def measure(bench):
    with bench.suite("polls") as suite:
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory))
        networks = Networks(sandbox)
        auth = suite.start_auth()
        for start in (suite.start_conversations, suite.start_photos, suite.start_push):
            start()
        settings = networks.settings(polls=0)
        linking = suite.start_social(**settings)
        _link(suite, auth, linking, networks)
        linking.program.stop()
        settings["SOCIAL_POLLS_PER_HOUR"] = ",".join(f"{network}={count}" for network, count in BUDGETS.items())
        fixture = _Fixture(suite, settings)
        regular, spent = fixture.polls(SECONDS)
        memory = fixture.social.program.pss_bytes()
        networks.client.post("/sandbox/script", {"service": "mastodon", "token": "ana", "behaviour": "silence"})
        # Wait until the maximum number of requests hang.
        time.sleep(12)
        hampered, _ = fixture.polls(SECONDS, failing={"transient"})
        networks.clear_rules()
        fixture.social.program.stop()
        fixture = _Fixture(suite, networks.settings(polls=UNLIMITED))
        most, _ = fixture.polls(bench.seconds)
    allowed = sum(BUDGETS.values()) / 3_600
    what = f"{PEOPLE * len(NETWORKS):,} linked accounts"
    return [
        _budget_row(f"{what}, polls", regular, allowed),
        _budget_row(f"{what}, polls while every twelfth Mastodon account hangs", hampered, allowed),
        Row(f"{what}, processor time of the polls", "% of a core", spent * 100, ""),
        Row(f"{what}, social's memory", "MB PSS", memory / 1e6, ""),
        Row(f"{what}, polls without budgets", "polls/s", most, ""),
    ]


def _budget_row(what, polls, allowed):
    # Each network's bucket may have one poll left from before.
    most = allowed + len(BUDGETS) / SECONDS
    reached = LEAST * allowed <= polls <= most
    return Row(what, "polls/s", polls, "the budgets", allowed, f"{LEAST} to 1 ×", reached)


def _link(suite, auth, social, networks):
    accounts = {network: [networks.join(network, name) for name in networks.people] for network in NETWORKS}

    def person(number):
        client = web.Client(social.url, suite.sign_in(auth.url))
        for network in NETWORKS:
            own = accounts[network]
            networks.link(client, network, own[number % len(own)])
        client.connection.close()

    web.in_parallel(person, range(PEOPLE))


class _Fixture:
    """A social instance whose budgets start empty."""

    def __init__(self, suite, settings):
        postgres, database = suite.bench.postgres, suite.database
        networks = ", ".join(f"('{network}', 0, now())" for network in BUDGETS)
        postgres.sql(
            database,
            f"""
            UPDATE social.polled_lists SET due_at = now() WHERE due_at < 'infinity';
            DELETE FROM social.poll_budgets;
            INSERT INTO social.poll_budgets (network, polls, filled_at) VALUES {networks};
            CHECKPOINT
            """,
        )
        self.social = suite.start_social(**settings)
        time.sleep(5)

    def polls(self, seconds, failing=()):
        """Returns polls per second, and social's processor seconds per second."""
        program = self.social.program
        before, earlier = self._polls(), outcomes(self.social)
        cpu, began = program.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        polls, took = self._polls() - before, time.monotonic() - began
        cpu = program.cpu_seconds() - cpu
        after = outcomes(self.social)
        wrong = {name: after[name] - earlier.get(name, 0) for name in after if name not in ("ok", *failing)}
        if any(wrong.values()):
            raise RuntimeError(f"polls failed: {wrong}")
        return polls / took, cpu / took

    def _polls(self):
        return metric(self.social, "roost_social_polls_total")
