"""A private PostgreSQL for one run, with the settings of `roost up` and every commit flushed to disk."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from bench.processes import Program, free_port

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "max_wal_size": "192MB",
    "checkpoint_timeout": "30s",
    "wal_compression": "lz4",
}


class Postgres:
    """A cluster in its own directory, run as the user postgres when the benchmark runs as root."""

    def __init__(self, directory):
        self.binaries = _binaries()
        self.user = "postgres" if os.geteuid() == 0 else None
        self.port = free_port()
        self.home = directory / "postgres"
        self.home.mkdir()
        if self.user:
            shutil.chown(self.home, self.user, self.user)
        data = self.home / "data"
        self._run("initdb", "-D", data, "-U", "roost", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        command = [self.binaries / "postgres", "-D", data, "-p", self.port, f"-cunix_socket_directories={self.home}"]
        self.program = Program("postgres", command + options, self.home, user=self.user, stop_with=signal.SIGINT)
        ready = ["pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port]
        self.program.wait_until(lambda: self._run(*ready, check=False).returncode == 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.stop()

    def url(self, database):
        return f"postgres://roost@127.0.0.1:{self.port}/{database}"

    def create_database(self, name):
        self._run("createdb", *self._where(), name)
        return self.url(name)

    def sql(self, database, text):
        """Returns the rows of the last statement as lists of strings."""
        done = self._run("psql", *self._where(), "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", database, text=text)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def pgbench(self, database, script, clients, seconds, schema, settings=None, **variables):
        """Returns the transactions per second of a prepared script with these clients and server settings."""
        load = ["-n", "-M", "prepared", "-c", clients, "-j", 1, "-T", seconds, "-f", script]
        command = ["pgbench", *self._where(), *load]
        for name, value in variables.items():
            command += ["-D", f"{name}={value}"]
        done = self._run(*command, database, options={"search_path": schema, **(settings or {})})
        rate = re.search(r"tps = ([0-9.]+)", done.stdout)
        if "number of failed transactions: 0 " not in done.stdout or not rate:
            raise RuntimeError(f"pgbench: {done.stdout[-500:]}{done.stderr[:1000]}")
        return float(rate[1])

    def _where(self):
        return ["-h", "127.0.0.1", "-p", self.port, "-U", "roost"]

    def _run(self, program, *arguments, check=True, text=None, options=None):
        environment = {**os.environ, "LC_ALL": "C"}
        if options:
            environment["PGOPTIONS"] = " ".join(f"-c {name}={value}" for name, value in options.items())
        done = subprocess.run(
            [str(word) for word in (self.binaries / program, *arguments)],
            cwd=self.home,
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=300,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stdout[-500:]}{done.stderr[:1000]}")
        return done


def _binaries():
    """Returns the folder of the server's programs. Debian has one folder per version, outside of PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda it: int(it.parts[-3]))
    if versions:
        return versions[-1].parent
    found = shutil.which("postgres")
    if not found:
        raise RuntimeError("PostgreSQL is not installed: apt-get install postgresql")
    return Path(found).parent
