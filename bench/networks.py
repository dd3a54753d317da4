"""The sandbox's social networks, and users of the suite who have linked accounts on them."""

from urllib.parse import urlsplit

from bench import web

# The networks with a feed. The suite's own network, `roost`, is always added.
NETWORKS = ("facebook", "twitter", "instagram", "vine", "tumblr", "reddit", "mastodon", "bluesky")
UNLIMITED = 1_000_000


class Networks:
    """The sandbox's networks, with rate limits that no benchmark reaches."""

    def __init__(self, sandbox):
        self.url = sandbox.url
        self.client = web.Client(sandbox.url)
        networks = {network["network"]: network for network in self.client.get("/sandbox/networks")["networks"]}
        self.apps = {name: (networks[name]["clientId"], networks[name]["clientSecret"]) for name in NETWORKS}
        self.people = [account["name"] for account in networks["mastodon"]["accounts"]]
        self.lift_limits("rpan", *NETWORKS)

    def lift_limits(self, *networks):
        for network in networks:
            self.client.post(f"/sandbox/networks/{network}/limits", {"factor": UNLIMITED})

    def delay(self, seconds):
        """Delays each response of every network."""
        for network in NETWORKS:
            self.client.post("/sandbox/script", {"service": network, "delay": seconds})

    def clear_rules(self):
        self.client.request("DELETE", "/sandbox/script")

    def settings(self, polls=None, base=None):
        """Returns social's settings for using the sandbox, or a proxy in front of it at `base`.

        `polls` is the number of polls per hour of each network; None keeps the defaults.
        """
        base = base or self.url
        settings = {"ALLOWED_PRIVATE_HOSTS": urlsplit(base).netloc, "RPAN_URL": f"{base}/rpan"}
        for network, (identity, secret) in self.apps.items():
            name = network.upper()
            # Each Mastodon account names its instance, and instances register any application.
            if network == "mastodon":
                continue
            settings[f"{name}_URL"] = f"{base}/{network}"
            # Bluesky identifies applications by their URL.
            if network != "bluesky":
                settings[f"{name}_CLIENT_ID"] = identity
                settings[f"{name}_CLIENT_SECRET"] = secret
        if polls is not None:
            settings["SOCIAL_POLLS_PER_HOUR"] = ",".join(f"{network}={polls}" for network in NETWORKS)
        return settings

    def join(self, network, name, follows=None):
        """Returns an account of the network, and creates it when it does not exist."""
        draft = {"name": name} if follows is None else {"name": name, "follows": follows}
        return self.client.post(f"/sandbox/networks/{network}/accounts", draft)

    def link(self, social, network, account, base=None):
        """Links an account to the client's user.

        Twitter and Tumblr use OAuth 2.0, whose requests can be repeated unchanged.
        """
        draft = {"access_token": account["accessToken"]}
        if network == "bluesky":
            draft = {"id": account["id"], "access_token": account["password"]}
        # The sandbox serves these networks at its root too.
        if network in ("mastodon", "bluesky"):
            draft["instance"] = base or self.url
        social.request("PUT", f"/networks/{network}", draft)

    def link_all(self, social, name, base=None):
        for network in NETWORKS:
            self.link(social, network, self.join(network, name), base)


def metric(social, name, label=None):
    """Returns a counter of social, by the values of a label or in total."""
    counts = {} if label else 0
    for line in web.text(social.url, "/metrics").splitlines():
        series, _, value = line.rpartition(" ")
        if series.partition("{")[0] != name:
            continue
        if not label:
            counts += int(float(value))
            continue
        key = series.partition(f'{label}="')[2].partition('"')[0]
        counts[key] = counts.get(key, 0) + int(float(value))
    return counts


def outcomes(social):
    """Returns the number of requests to networks so far, by outcome."""
    return metric(social, "roost_social_network_request_duration_seconds_count", "outcome")


def check_feed(client, limit=20):
    """Requests a feed, and fails unless it has all networks and all items."""
    response = client.get(f"/feed?limit={limit}")
    items, networks = response["response"]["items"], response["meta"]["networks"]
    failed = {name: report for name, report in networks.items() if report["code"] != 200}
    if failed or set(networks) != {*NETWORKS, "roost"} or len(items) != limit:
        raise RuntimeError(f"a feed of {len(items)} items, {failed or sorted(networks)}")
