"""A scroll of 10,000 items over five networks of 2,400 posts each, from the newest to the last, page by page.

The last tenth must come as fast as the first, and take no more memory. The same scroll was made once before, so that
what is kept of pages is there already.
"""

import time
from statistics import mean
from urllib.parse import quote

from bench import web
from bench.networks import Networks
from bench.sandbox import Sandbox
from bench.table import Row

LINKED = ("twitter", "tumblr", "reddit", "mastodon", "bluesky")
POSTS = 2_400
ITEMS = 10_000
PAGE = 20
GROWTH = 5e6
FLAT = 1.1


def measure(bench):
    with bench.suite("scrolls") as suite:
        sandbox = suite.stack.enter_context(Sandbox(bench, suite.directory, SANDBOX_POSTS=POSTS))
        networks = Networks(sandbox)
        auth = suite.start_auth()
        for start in (suite.start_conversations, suite.start_photos, suite.start_push):
            start()
        social = suite.start_social(**networks.settings(polls=0))
        client = web.Client(social.url, suite.sign_in(auth.url))
        for network in LINKED:
            networks.link(client, network, networks.join(network, "reader", follows=networks.people))
        _scroll(client, social)
        times, memory = _scroll(client, social)
    tenth = len(times) // 10
    # Most pages come from what is kept; every fifth or so asks a network.
    first, last = mean(times[:tenth]) * 1e3, mean(times[-tenth:]) * 1e3
    grown = memory[-1] - memory[tenth]
    what = f"a scroll of {ITEMS:,} items over {len(LINKED)} networks"
    most = f"≤ {GROWTH / 1e6:.0f}"
    return [
        Row(f"{what}, all of it", "items/s", ITEMS / sum(times), ""),
        Row(f"{what}, its last tenth", "ms a page", last, "its first", first, f"≤ {FLAT} ×", last <= FLAT * first),
        Row(f"{what}, growth behind its first tenth", "MB PSS", grown / 1e6, "", None, most, grown <= GROWTH),
    ]


def _scroll(client, social):
    """Seconds that each page took, and social's memory behind it."""
    seen, times, memory, last, cursor = set(), [], [], None, None
    while len(seen) < ITEMS:
        path = f"/scroll/feed?limit={PAGE}" + (f"&cursor={quote(cursor)}" if cursor else "")
        began = time.perf_counter()
        answer = client.get(path)
        times.append(time.perf_counter() - began)
        memory.append(social.program.pss_bytes())
        failed = {name: report for name, report in answer["meta"]["networks"].items() if report["code"] != 200}
        items = answer["response"]["items"]
        ids, at = [item["id"] for item in items], [item["createdAt"] for item in items]
        if failed or at != sorted(at, reverse=True) or (last and at and at[0] > last) or not seen.isdisjoint(ids):
            raise RuntimeError(f"page {len(times)} is not what follows: {failed or at}")
        seen.update(ids)
        last, cursor = at[-1] if at else last, answer["meta"].get("next")
        if not cursor and len(seen) < ITEMS:
            raise RuntimeError(f"the scroll ended after {len(seen)} items")
    return times, memory
