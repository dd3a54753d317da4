"""h2load (Debian's nghttp2-client) as the source of load over TLS, which wrk cannot make HTTP/2 of."""

import re
import subprocess

from bench.load import Load


def run(url, connections, streams, seconds, directory, headers=(), http1=False, body=None):
    """Loads the URL from one thread, by POST if there is a body (a file), and fails if any answer was not 2xx or 3xx."""
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
    answered = re.search(r"requests: .*?(\d+) succeeded, (\d+) failed, (\d+) errored", done.stdout)
    taken = re.search(r"finished in ([\d.]+)(m?s)", done.stdout)
    if done.returncode != 0 or not answered or not taken:
        raise RuntimeError(f"h2load: {done.stdout}{done.stderr}")
    requests, failed, errored = (int(number) for number in answered.groups())
    if failed or errored or not requests:
        raise RuntimeError(f"h2load: {failed + errored} requests to {url} failed\n{done.stdout}")
    # Start, status and microseconds of each request.
    times = sorted(int(line.split("\t")[2]) for line in log.read_text().splitlines())
    return Load(
        requests=requests,
        seconds=float(taken[1]) / (1_000 if taken[2] == "ms" else 1),
        p50=times[len(times) // 2] / 1e3,
        p99=times[len(times) * 99 // 100] / 1e3,
    )
