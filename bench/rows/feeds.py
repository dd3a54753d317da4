"""Home feeds of somebody who follows 500 of 100,000 people, who have posted 100,000 times, and a million times.

Asked directly, over HTTP with the jwt verified; beside the first page pgbench runs the statements that the service
runs, from as many clients. However much was posted, it must take the same time: of so few clients that none waits for
another's turn on a core. Then what is paid once: posts that are new since the last look, somebody with 10,000 posts
who is followed, somebody with 100,000 followers who posts; and the search among a million people.
"""

import time
from contextlib import ExitStack
from statistics import mean, median
from urllib.parse import quote

from bench import images, web, wrk
from bench.seeding import SQL
from bench.table import Row

CONNECTIONS = 32
# Where more wait for two cores, p99 is a third more or less from one load to the next, and here a tenth.
FEW = 4
# So many that the median of two sizes' p99 differs by less than a tenth where they are the same.
ROUNDS = 8
SIZES = (100_000, 1_000_000)
PEOPLE = 100_000
FOLLOWEES = 500
NEW = 50
MANY = 10_000
FOUND = 1_000_000
TRIES = 9
# The reads of photos are planned so (PhotosService.readSettings).
PLANS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}


def measure(bench):
    with ExitStack() as stack:
        scenes = {size: _Scene(stack.enter_context(bench.suite(f"feeds{size}")), size) for size in SIZES}
        ours, theirs, few = ({size: [] for size in SIZES} for _ in range(3))
        for round_ in range(ROUNDS + 1):
            # Both sizes come first equally often: what slows a machine for a while hits both.
            for size, scene in sorted(scenes.items(), reverse=round_ % 2):
                mine = wrk.run(scene.url + "/photos/home", CONNECTIONS, bench.seconds, scene.headers)
                pgbench = scene.pgbench()
                calm = wrk.run(scene.url + "/photos/home", FEW, bench.seconds, scene.headers)
                # The first round warms both up.
                if round_ > 0:
                    ours[size].append(mine)
                    theirs[size].append(pgbench)
                    few[size].append(calm)
        large = scenes[SIZES[-1]]
        return _page_rows(ours, theirs, few) + _once_rows(large) + _search_rows(bench, large)


class _Scene:
    """The service, and a reader with 500 followees in a database of its own."""

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
            raise RuntimeError(f"the first page has {len(page)} posts, or in no order")

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
        """Milliseconds of requests one after the other."""
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


def _once_rows(scene):
    home = ("GET", "/photos/home", None)
    made = []
    for _ in range(TRIES):
        scene.sql(
            f"""
            WITH authors AS (
                UPDATE photos.people SET last_post_number = last_post_number + 1, post_count = post_count + 1,
                       last_posted_at = clock_timestamp()
                WHERE person_id IN (
                    SELECT followee_id FROM photos.follows WHERE follower_id = {scene.reader}
                    ORDER BY random() LIMIT {NEW}
                )
                RETURNING person_id, last_post_number, last_posted_at
            )
            INSERT INTO photos.posts (author_id, number, application_id, text, created_at)
            SELECT person_id, last_post_number, 'roost', 'new', last_posted_at FROM authors
            """
        )
        made.append(scene.timed(home))
    me = scene.person(scene.followed.get("/photos/me")["userId"])
    prolific = scene.run("feeds-many.sql", {"posts": MANY, "followed": me})[-1][0]
    scene.sql("VACUUM ANALYZE; CHECKPOINT")
    path, followed = f"/photos/people/{quote(prolific)}/follow", []
    for _ in range(TRIES):
        followed.append(scene.timed(("PUT", path, None), home))
        scene.client.request("DELETE", path)
    posted = []
    for number in range(TRIES):
        upload = images.upload(scene.url, scene.followed.token, images.pixel(number))
        began = time.perf_counter()
        scene.followed.post("/photos/posts", {"text": "to all of them", "uploadIds": [upload]})
        posted.append((time.perf_counter() - began) * 1e3)
    return [
        _limit(f"home feed, {NEW} new posts of {FOLLOWEES} followees", made, 30),
        _limit(f"follow of somebody with {MANY:,} posts, and the first page with them", followed, 100),
        _limit(f"post by somebody with {PEOPLE:,} followers", posted, 20),
    ]


def _limit(what, milliseconds, most):
    value = median(milliseconds)
    return Row(what, "median, ms", value, "", None, f"≤ {most}", value <= most)


def _search_rows(bench, scene):
    scene.run("people.sql", {"people": FOUND})
    scene.sql("VACUUM ANALYZE; CHECKPOINT")
    rows = []
    searches = (
        ("two letters", "an"), ("a name", "maria"), ("both names", "maria ben"), ("both, the other first", "ben maria"),
        ("beginnings of both", "mari tim"), ("nobody", "zzyzx"),
    )
    for what, query in searches:
        load = wrk.run(f"{scene.url}/photos/people?query={quote(query)}", 1, bench.seconds, scene.headers)
        rows.append(Row(f"search of {FOUND:,} people, {what}", "p99, ms", load.p99, "", None, "≤ 10", load.p99 <= 10))
    return rows
