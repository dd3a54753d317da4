"""h2load (Debian's nghttp2-client) as the load generator for TLS, because wrk does not support HTTP/2."""

import re
import subprocess

from bench.load import Load


def run(url, connections, streams, seconds, directory, headers=(), http1=False, body=None):
    """Loads the URL from one thread, with POST if there is a body file. Fails unless every response is 2xx or 3xx."""
    log = directory / "h2load.log"
    log.unlink(missing_ok=True)
    command = ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", f"--log-file={log}", url]
    if http1:
        command.append("--h1")
    if body:
        command += ["-d", body]
    for header in headers:
        command += ["-H", header]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60)
    totals = re.search(r"requests: .*?(\d+) succeeded, (\d+) failed, (\d+) errored", done.stdout)
    duration = re.search(r"finished in ([\d.]+)(m?s)", done.stdout)
    if done.returncode != 0 or not totals or not duration:
        raise RuntimeError(f"h2load: {done.stdout}{done.stderr}")
    requests, failed, errored = (int(number) for number in totals.groups())
    if failed or errored or not requests:
        raise RuntimeError(f"h2load: {failed + errored} requests to {url} failed\n{done.stdout}")
    # Each line has the start, the status and the microseconds of a request.
    times = sorted(int(line.split("\t")[2]) for line in log.read_text().splitlines())
    return Load(
        requests=requests,
        seconds=float(duration[1]) / (1_000 if duration[2] == "ms" else 1),
        p50=times[len(times) // 2] / 1e3,
        p99=times[len(times) * 99 // 100] / 1e3,
    )
