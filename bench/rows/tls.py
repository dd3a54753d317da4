"""The cost of a request over TLS, with HTTP/1.1 and HTTP/2, beside nginx and Traefik.

As in rows/gateway.py, but with h2load: 64 connections of HTTP/1.1, and 8 of HTTP/2 with 8 concurrent requests each.
"""

import json
from contextlib import ExitStack
from statistics import median

from bench import certificate, h2load, web
from bench.peers import nginx, traefik
from bench.processes import free_port
from bench.table import Row

ROUNDS = 3
PATH = "/.well-known/openid-configuration"
KINDS = {"HTTP/1.1": (64, 1, True), "HTTP/2": (8, 8, False)}


def measure(bench):
    with ExitStack() as stack:
        directory = bench.directory("tls")
        document = directory / "document.json"
        document.write_text(json.dumps({"conversations": [], "filler": "x" * 987}))
        made = certificate.make(directory)
        suite = stack.enter_context(bench.suite("tls"))
        auth = suite.start_auth()
        service = f"127.0.0.1:{free_port()}"
        backend = stack.enter_context(nginx.service(directory, int(service[10:]), document, auth.address))
        backend.wait_until(lambda: web.responds(f"http://{service}", PATH))

        targets = {}
        for peer in (nginx, traefik):
            port = free_port()
            program = stack.enter_context(peer.proxy(directory, port, service, certificate=made))
            url = f"https://127.0.0.1:{port}"
            program.wait_until(lambda url=url: web.responds(url, PATH))
            targets[peer.__name__.rpartition(".")[2]] = (program, url)
        gateway = suite.start_gateway(
            event_loops=1, settings=made.settings, auth=f"http://{service}", conversations=f"http://{service}"
        )
        targets["ours"] = (gateway.program, gateway.url)

        figures = {(name, kind): [] for name in targets for kind in KINDS}
        for number in range(ROUNDS + 1):
            for (name, kind), rounds in figures.items():
                # The first round is a warm-up.
                seconds = bench.seconds if number else 1
                figure = _round(*targets[name], kind, seconds, directory)
                if number:
                    rounds.append(figure)
        medians = {target: _median(rounds) for target, rounds in figures.items()}
    bench.note("TLS, all figures", _detail(medians))
    return list(_rows(medians))


def _round(program, url, kind, seconds, directory):
    connections, streams, http1 = KINDS[kind]
    before = program.cpu_seconds()
    load = h2load.run(url + PATH, connections, streams, seconds, directory, http1=http1)
    cpu = (program.cpu_seconds() - before) * 1e6 / load.requests
    return {"cpu": cpu, "rate": load.rate, "p50": load.p50, "p99": load.p99, "rss": program.rss_bytes() / 1e6}


def _median(rounds):
    return {key: median(figures[key] for figures in rounds) for key in rounds[0]}


def _rows(medians):
    for kind in KINDS:
        ours = medians["ours", kind]
        for peer in ("nginx", "traefik"):
            theirs = medians[peer, kind]
            yield Row(f"gateway, TLS, {kind}", "µs CPU per request", ours["cpu"], peer, theirs["cpu"])
        theirs = medians["nginx", kind]
        yield Row(f"gateway, TLS, {kind}", "requests/s", ours["rate"], "nginx", theirs["rate"])
        yield Row(f"gateway, TLS, {kind}", "p99, ms", ours["p99"], "nginx", theirs["p99"])


def _detail(medians):
    lines = [
        "| | | µs CPU per request | requests/s | p50, ms | p99, ms | RSS, MB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (name, kind), it in medians.items():
        lines.append(
            f"| {name} | {kind} | {it['cpu']:.1f} | {it['rate']:,.0f} | {it['p50']:.2f} | {it['p99']:.2f} "
            f"| {it['rss']:.0f} |"
        )
    return "\n".join(lines)
