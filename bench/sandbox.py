"""The sandbox, which simulates the push services and social networks on this machine."""

import json

from bench import web
from bench.processes import Program, free_port


class Sandbox:
    def __init__(self, bench, directory, **settings):
        self.url = f"http://127.0.0.1:{free_port()}"
        ports = {
            "SANDBOX_APNS_PORT": free_port(),
            "SANDBOX_APNS_SANDBOX_PORT": free_port(),
            "SANDBOX_SMTP_PORT": free_port(),
        }
        own = {"HOST": "127.0.0.1", "PORT": self.url.rpartition(":")[2], "LOG_LEVEL": "warning"}
        environment = {name: str(value) for name, value in {**own, **ports, **settings}.items()}
        self.program = Program("sandbox", [bench.binaries / "sandbox"], directory, environment)
        self.program.wait_until(lambda: web.responds(self.url, "/ready"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.stop()

    def credentials(self):
        return web.Client(self.url).get("/sandbox/credentials")

    def settings(self):
        credentials = self.credentials()
        apns, fcm = credentials["apns"], credentials["fcm"]
        return {
            "APNS_KEY": apns["key"],
            "APNS_KEY_ID": apns["keyId"],
            "APNS_TEAM_ID": apns["teamId"],
            "APNS_TOPIC": apns["topic"],
            "APNS_URL": apns["url"],
            "APNS_SANDBOX_URL": apns["sandboxUrl"],
            "FCM_SERVICE_ACCOUNT": json.dumps(fcm["serviceAccount"]),
            "FCM_URL": fcm["url"],
            "FCM_TOKEN_URL": fcm["tokenUrl"],
            "TRUSTED_CA": credentials["authority"],
        }

    def counts(self):
        return web.Client(self.url).get("/sandbox/counts")
