"""Home feeds of a user who follows 500 of 100,000 people, with 100,000 and with a million posts in total.

The requests go directly to the service, which verifies the jwt. Beside them pgbench runs the service's statements with
as many clients. The latency must be the same for both sizes, measured with so few clients that none waits for a core.
Further rows measure single operations: an update of the feed with new posts, following a user with 10,000 posts, a post
by a user with 100,000 followers, and the search among a million people.
"""

import time
from contextlib import ExitStack
from statistics import mean, median
from urllib.parse import quote

from bench import images, web, wrk
from bench.seeding import SQL
from bench.table import Row

CONNECTIONS = 32
# With more clients on two cores, p99 varies by a third between loads; with 4 it varies by a tenth.
FEW = 4
# Enough rounds that the median p99 of two equal loads differs by less than a tenth.
ROUNDS = 8
SIZES = (100_000, 1_000_000)
PEOPLE = 100_000
FOLLOWEES = 500
NEW = 50
MANY = 10_000
FOUND = 1_000_000
TRIES = 9
# The planner settings of photos' reads (PhotosService.readSettings).
PLANS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}


def measure(bench):
    with ExitStack() as stack:
        fixtures = {size: _Fixture(stack.enter_context(bench.suite(f"feeds{size}")), size) for size in SIZES}
        ours, theirs, few = ({size: [] for size in SIZES} for _ in range(3))
        for round_ in range(ROUNDS + 1):
            # Both sizes run first equally often, so that a temporary slowdown affects both.
            for size, fixture in sorted(fixtures.items(), reverse=round_ % 2):
                mine = wrk.run(fixture.url + "/photos/home", CONNECTIONS, bench.seconds, fixture.headers)
                pgbench = fixture.pgbench()
                calm = wrk.run(fixture.url + "/photos/home", FEW, bench.seconds, fixture.headers)
                # The first round is a warm-up for both.
                if round_ > 0:
                    ours[size].append(mine)
                    theirs[size].append(pgbench)
                    few[size].append(calm)
        large = fixtures[SIZES[-1]]
        return _page_rows(ours, theirs, few) + _operation_rows(large) + _search_rows(bench, large)


class _Fixture:
    """The service, and a reader with 500 followees in a separate database."""

    def __init__(self, suite, size):
        self.suite, self.postgres = suite, suite.bench.postgres
        auth = suite.start_auth()
        self.photos = suite.start_photos()
        self.url = self.photos.url
        self.user = suite.sign_in_user(auth.url)
        self.headers = [f"Authorization: Bearer {self.user['jwt']}"]
        self.client = web.Client(self.url, self.user["jwt"])
        self.followed = web.Client(self.url, suite.sign_in_user(auth.url)["jwt"])
        self.reader = self.person(self.client.get("/photos/me")["userId"])
        values = {"people": PEOPLE, "posts": size, "followees": FOLLOWEES, "reader": self.reader}
        self.run("feeds.sql", values)
        self.sql("VACUUM ANALYZE; CHECKPOINT")
        page = self.client.get("/photos/home")["posts"]
        times = [post["timestamp"] for post in page]
        if len(page) != 20 or times != sorted(times, reverse=True):
            raise RuntimeError(f"the first page has {len(page)} posts or is not sorted")

    def person(self, user):
        return int(self.sql(f"SELECT person_id FROM photos.people WHERE user_id = '{user}'")[0][0])

    def sql(self, text):
        return self.postgres.sql(self.suite.database, text)

    def run(self, script, values):
        text = (SQL / script).read_text()
        for name, value in values.items():
            text = text.replace(f":{name}", str(value))
        return self.sql(text)

    def pgbench(self):
        return self.postgres.pgbench(
            self.suite.database,
            SQL / "home.sql",
            clients=CONNECTIONS,
            seconds=self.suite.bench.seconds,
            schema="photos",
            settings=PLANS,
            reader=self.reader,
        )

    def timed(self, *requests):
        """Returns the milliseconds of several requests in sequence."""
        began = time.perf_counter()
        for method, path, body in requests:
            self.client.request(method, path, body)
        return (time.perf_counter() - began) * 1e3


def _page_rows(ours, theirs, few):
    rows = []
    for size, loads in ours.items():
        rate, peer = mean(load.rate for load in loads), mean(theirs[size])
        what = f"home feed, first page, {FOLLOWEES} followees, {size:,} posts"
        rows.append(Row(what, "reads/s", rate, "pgbench", peer, "≥ 0.5 × pgbench", rate >= 0.5 * peer))
    small, large = (median(load.p99 for load in few[size]) for size in SIZES)
    what = f"home feed, {SIZES[1]:,} posts beside {SIZES[0]:,}"
    rows.append(Row(what, "p99, ms", large, "itself", small, "≤ 1.1 ×", large <= 1.1 * small))
    return rows


def _operation_rows(fixture):
    home = ("GET", "/photos/home", None)
    made = []
    for _ in range(TRIES):
        fixture.sql(
            f"""
            WITH authors AS (
                UPDATE photos.people SET last_post_number = last_post_number + 1, post_count = post_count + 1,
                       last_posted_at = clock_timestamp()
                WHERE person_id IN (
                    SELECT followee_id FROM photos.follows WHERE follower_id = {fixture.reader}
                    ORDER BY random() LIMIT {NEW}
                )
                RETURNING person_id, last_post_number, last_posted_at
            )
            INSERT INTO photos.posts (author_id, number, application_id, text, created_at)
            SELECT person_id, last_post_number, 'roost', 'new', last_posted_at FROM authors
            """
        )
        made.append(fixture.timed(home))
    me = fixture.person(fixture.followed.get("/photos/me")["userId"])
    prolific = fixture.run("feeds-many.sql", {"posts": MANY, "followed": me})[-1][0]
    fixture.sql("VACUUM ANALYZE; CHECKPOINT")
    path, followed = f"/photos/people/{quote(prolific)}/follow", []
    for _ in range(TRIES):
        followed.append(fixture.timed(("PUT", path, None), home))
        fixture.client.request("DELETE", path)
    posted = []
    for number in range(TRIES):
        upload = images.upload(fixture.url, fixture.followed.token, images.pixel(number))
        began = time.perf_counter()
        fixture.followed.post("/photos/posts", {"text": "to all of them", "uploadIds": [upload]})
        posted.append((time.perf_counter() - began) * 1e3)
    return [
        _limit(f"home feed, {NEW} new posts of {FOLLOWEES} followees", made, 30),
        _limit(f"follow of a user with {MANY:,} posts, and the next first page", followed, 100),
        _limit(f"post by a user with {PEOPLE:,} followers", posted, 20),
    ]


def _limit(what, milliseconds, most):
    value = median(milliseconds)
    return Row(what, "median, ms", value, "", None, f"≤ {most}", value <= most)


def _search_rows(bench, fixture):
    fixture.run("people.sql", {"people": FOUND})
    fixture.sql("VACUUM ANALYZE; CHECKPOINT")
    rows = []
    searches = (
        ("two letters", "an"),
        ("a name", "maria"),
        ("both names", "maria ben"),
        ("both names, reversed", "ben maria"),
        ("prefixes of both names", "mari tim"),
        ("no match", "zzyzx"),
    )
    for what, query in searches:
        load = wrk.run(f"{fixture.url}/photos/people?query={quote(query)}", 1, bench.seconds, fixture.headers)
        rows.append(Row(f"search of {FOUND:,} people, {what}", "p99, ms", load.p99, "", None, "≤ 10", load.p99 <= 10))
    return rows
