"""The social networks as the sandbox plays them, and people of the suite who have linked their accounts there."""

from urllib.parse import urlsplit

from bench import web

# Those that have a feed; the suite's own, `roost`, is always one more.
NETWORKS = ("facebook", "twitter", "instagram", "vine", "tumblr", "reddit", "mastodon", "bluesky")
UNLIMITED = 1_000_000


class Networks:
    """The sandbox's networks, without limits of their own."""

    def __init__(self, sandbox):
        self.url = sandbox.url
        self.client = web.Client(sandbox.url)
        known = {known_network["network"]: known_network for known_network in self.client.get("/sandbox/networks")["networks"]}
        self.apps = {name: (known[name]["clientId"], known[name]["clientSecret"]) for name in NETWORKS}
        self.people = [account["name"] for account in known["mastodon"]["accounts"]]
        self.lift_limits("rpan", *NETWORKS)

    def lift_limits(self, *networks):
        for network in networks:
            self.client.post(f"/sandbox/networks/{network}/limits", {"factor": UNLIMITED})

    def delay(self, seconds):
        """Has each network wait so long before it answers."""
        for network in NETWORKS:
            self.client.post("/sandbox/script", {"service": network, "delay": seconds})

    def clear_rules(self):
        self.client.request("DELETE", "/sandbox/script")

    def settings(self, polls=None, base=None):
        """Social's, so that it asks the sandbox, or what stands before it at `base`.

        `polls` is how many polls an hour each network allows; the usual ones where nothing is said.
        """
        base = base or self.url
        settings = {"ALLOWED_PRIVATE_HOSTS": urlsplit(base).netloc, "RPAN_URL": f"{base}/rpan"}
        for network, (identity, secret) in self.apps.items():
            name = network.upper()
            # Mastodon's address comes with each account, and its instances register whoever asks.
            if network == "mastodon":
                continue
            settings[f"{name}_URL"] = f"{base}/{network}"
            # Bluesky knows applications by their address.
            if network != "bluesky":
                settings[f"{name}_CLIENT_ID"] = identity
                settings[f"{name}_CLIENT_SECRET"] = secret
        if polls is not None:
            settings["SOCIAL_POLLS_PER_HOUR"] = ",".join(f"{network}={polls}" for network in NETWORKS)
        return settings

    def join(self, network, name, follows=None):
        """An account of the network's; it is made where there is nobody of that name."""
        draft = {"name": name} if follows is None else {"name": name, "follows": follows}
        return self.client.post(f"/sandbox/networks/{network}/accounts", draft)

    def link(self, social, network, account, base=None):
        """Links an account to whose client it is.

        Twitter's and Tumblr's by OAuth 2.0, whose requests can be sent again as they are.
        """
        draft = {"access_token": account["accessToken"]}
        if network == "bluesky":
            draft = {"id": account["id"], "access_token": account["password"]}
        # At the sandbox's root are the paths that have no network before them.
        if network in ("mastodon", "bluesky"):
            draft["instance"] = base or self.url
        social.request("PUT", f"/networks/{network}", draft)

    def link_all(self, social, name, base=None):
        for network in NETWORKS:
            self.link(social, network, self.join(network, name), base)


def metric(social, name, label=None):
    """A counter of social's by the values of a label, or in all."""
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
    """How often networks were asked so far, by outcome."""
    return metric(social, "roost_social_network_request_duration_seconds_count", "outcome")


def check_feed(client, limit=20):
    """A feed with all networks in it, or none that may be measured."""
    answer = client.get(f"/feed?limit={limit}")
    items, networks = answer["response"]["items"], answer["meta"]["networks"]
    failed = {name: report for name, report in networks.items() if report["code"] != 200}
    if failed or set(networks) != {*NETWORKS, "roost"} or len(items) != limit:
        raise RuntimeError(f"a feed of {len(items)} items, {failed or sorted(networks)}")
