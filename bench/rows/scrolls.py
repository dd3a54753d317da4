"""Paging through 10,000 items over five networks with 2,400 posts each, from the newest to the oldest.

The last tenth of the pages must be as fast as the first and use no more memory. A first pass fills the cache of pages.
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
    # Most pages come from the cache; about every fifth requires a network.
    first, last = mean(times[:tenth]) * 1e3, mean(times[-tenth:]) * 1e3
    grown = memory[-1] - memory[tenth]
    what = f"a scroll of {ITEMS:,} items over {len(LINKED)} networks"
    most = f"≤ {GROWTH / 1e6:.0f}"
    return [
        Row(f"{what}, all pages", "items/s", ITEMS / sum(times), ""),
        Row(f"{what}, last tenth", "ms per page", last, "first tenth", first, f"≤ {FLAT} ×", last <= FLAT * first),
        Row(f"{what}, growth after the first tenth", "MB PSS", grown / 1e6, "", None, most, grown <= GROWTH),
    ]


def _scroll(client, social):
    """Returns the seconds of each page, and social's memory after it."""
    seen, times, memory, last, cursor = set(), [], [], None, None
    while len(seen) < ITEMS:
        path = f"/scroll/feed?limit={PAGE}" + (f"&cursor={quote(cursor)}" if cursor else "")
        began = time.perf_counter()
        response = client.get(path)
        times.append(time.perf_counter() - began)
        memory.append(social.program.pss_bytes())
        failed = {name: report for name, report in response["meta"]["networks"].items() if report["code"] != 200}
        items = response["response"]["items"]
        ids, at = [item["id"] for item in items], [item["createdAt"] for item in items]
        if failed or at != sorted(at, reverse=True) or (last and at and at[0] > last) or not seen.isdisjoint(ids):
            raise RuntimeError(f"page {len(times)} does not follow the previous page: {failed or at}")
        seen.update(ids)
        last, cursor = at[-1] if at else last, response["meta"].get("next")
        if not cursor and len(seen) < ITEMS:
            raise RuntimeError(f"the scroll ended after {len(seen)} items")
    return times, memory
