"""10,000 linked accounts of 1,250 people, looked at by one instance for what networks do not tell by themselves.

More lists are due than the networks' budgets allow: what is taken must be all of that and no more. Then the same while
every twelfth of Mastodon's accounts never answers, for whom the others must not wait. Then without budgets, as many
polls as one instance takes where networks answer at once. The networks' own accounts are the same twelve, which social
cannot know.
"""

import time

from bench import web
from bench.networks import NETWORKS, Networks, metric, outcomes
from bench.sandbox import Sandbox
from bench.table import Row

PEOPLE = 1_250
# Looks an hour; those that settings.md has as the usual ones.
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
        scene = _Scene(suite, settings)
        usual, spent = scene.polls(SECONDS)
        memory = scene.social.program.pss_bytes()
        networks.client.post("/sandbox/script", {"service": "mastodon", "token": "ana", "behaviour": "silence"})
        # Until as many of them hang as ever will.
        time.sleep(12)
        hampered, _ = scene.polls(SECONDS, failing={"transient"})
        networks.clear_rules()
        scene.social.program.stop()
        scene = _Scene(suite, networks.settings(polls=UNLIMITED))
        most, _ = scene.polls(bench.seconds)
    allowed = sum(BUDGETS.values()) / 3_600
    what = f"{PEOPLE * len(NETWORKS):,} linked accounts"
    return [
        _budget_row(f"{what}, polls", usual, allowed),
        _budget_row(f"{what}, polls while one in twelve at Mastodon hangs", hampered, allowed),
        Row(f"{what}, processor for that", "% of a core", spent * 100, ""),
        Row(f"{what}, social's memory", "MB PSS", memory / 1e6, ""),
        Row(f"{what}, polls without budgets", "polls/s", most, ""),
    ]


def _budget_row(what, polls, allowed):
    # Of each network's bucket a look may be left over from before.
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


class _Scene:
    """Social on its own, whose budgets fill from nothing on."""

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
        """Looks a second, and processor time of social's for a second."""
        program = self.social.program
        before, asked = self._polls(), outcomes(self.social)
        cpu, began = program.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        polls, took = self._polls() - before, time.monotonic() - began
        cpu = program.cpu_seconds() - cpu
        after = outcomes(self.social)
        wrong = {name: after[name] - asked.get(name, 0) for name in after if name not in ("ok", *failing)}
        if any(wrong.values()):
            raise RuntimeError(f"networks refused polls: {wrong}")
        return polls / took, cpu / took

    def _polls(self):
        return metric(self.social, "roost_social_polls_total")
