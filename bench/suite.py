"""The suite's release executables, with one database per benchmark and no rate limits."""

import base64
import os
import secrets
from contextlib import ExitStack
from dataclasses import dataclass

from bench import web
from bench.processes import Program, free_port

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class Running:
    """A service that is ready."""

    program: Program
    url: str
    ready_after: float
    metrics_url: str

    @property
    def address(self):
        return self.url.removeprefix("http://")


class Suite:
    """The started services, which stop with the suite."""

    def __init__(self, bench, name):
        self.bench = bench
        self.directory = bench.directory(f"suite-{name}")
        self.database = f"bench_{name}"
        self.database_url = bench.postgres.create_database(self.database)
        self.stack = ExitStack()
        self.public_url = f"http://127.0.0.1:{free_port()}"
        self.service_urls = {}
        self.secrets = {
            "SERVICE_SECRET": secrets.token_hex(32),
            "TOKEN_ENCRYPTION_KEY": base64.b64encode(os.urandom(32)).decode(),
        }

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return self.stack.__exit__(*exception)

    def start_auth(self):
        limits = ("LOGIN_FAILURES", "LOGIN_FAILURES_PER_ADDRESS_MAX", "LOGINS_PER_MINUTE")
        return self._start("auth", dict.fromkeys(limits, "0"))

    def start_conversations(self, **settings):
        return self._start("conversations", settings)

    def start_push(self, **settings):
        return self._start("push", settings)

    def start_photos(self, **settings):
        return self._start("photos", settings)

    def start_social(self, **settings):
        return self._start("social", settings)

    def start_gateway(self, event_loops=0, settings=None, **upstreams):
        """`event_loops` 0 means one per core, the default. `upstreams` replaces the URLs of services."""
        urls = {f"{name.upper()}_URL": url for name, url in upstreams.items()}
        own = {"MANAGEMENT_PORT": str(free_port()), "EVENT_LOOPS": str(event_loops)}
        return self._start("gateway", {**urls, **own, **(settings or {})})

    def start_all(self):
        return self.start_auth(), self.start_conversations(), self.start_gateway()

    def start_every_program(self):
        """Starts auth, conversations, push and the gateway, and returns them by name."""
        auth, conversations, gateway = self.start_all()
        return {"auth": auth, "conversations": conversations, "push": self.start_push(), "gateway": gateway}

    def sign_in(self, url):
        """Creates an account, and returns its jwt."""
        return self.sign_in_user(url)["jwt"]

    def sign_in_user(self, url):
        """Creates an anonymous account, so that no password is hashed, and returns the login response."""
        return web.Client(url).post("/auth/anonymous", {})

    def _start(self, name, settings=None):
        is_entrance = name == "gateway" and "GATEWAY_URL" not in self.service_urls
        port = int(self.public_url.rpartition(":")[2]) if is_entrance else free_port()
        scheme = "https" if settings and "TLS_CERTIFICATE" in settings else "http"
        url = f"{scheme}://127.0.0.1:{port}"
        environment = {
            **self.secrets,
            **self.service_urls,
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "PUBLIC_URL": self.public_url,
            "LOG_LEVEL": "warning",
            "BLOBS_PATH": str(self.directory / "blobs"),
            "DATABASE_URL": self.database_url,
            "RATE_USER": "0",
            "RATE_ADDRESS": "0",
            "RATE_REGISTER": "0",
            "CONNECTIONS_PER_ADDRESS_MAX": "0",
            **(settings or {}),
        }
        self.service_urls[f"{name.upper()}_URL"] = url
        program = self.stack.enter_context(Program(name, [self.bench.binaries / name], self.directory, environment))
        ready_after = program.wait_until(lambda: web.responds(url, "/ready"))
        management = environment.get("MANAGEMENT_PORT")
        metrics_url = f"http://127.0.0.1:{management}" if management else url
        return Running(program, url, ready_after, metrics_url)
