"""The cost of a proxied request, beside nginx, Traefik and Caddy.

The upstream is an nginx with 1 KB of JSON, and in further rows two of them. The load is 64 connections from one wrk
thread, over HTTP/1.1 in cleartext. Each proxy has one worker or event loop and no access log. All programs share the
cores with the load, so the processor time of the proxy is reliable, and rates only compare within the run. The rounds
alternate, and their median counts.
"""

import json
from contextlib import ExitStack
from statistics import median

from bench import web, wrk
from bench.peers import caddy, nginx, traefik
from bench.processes import free_port
from bench.table import Row

CONNECTIONS = 64
ROUNDS = 3
OPEN = "/.well-known/openid-configuration"
CLOSED = "/conversations"
# Rate limits that are counted but never reached.
GENEROUS = {"RATE_USER": "1000000", "RATE_ADDRESS": "1000000"}


def measure(bench):
    with ExitStack() as stack:
        directory = bench.directory("gateway")
        document = directory / "document.json"
        document.write_text(json.dumps({"conversations": [], "filler": "x" * 987}))
        suite = stack.enter_context(bench.suite("gateway"))
        auth = suite.start_auth()
        services = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        for address in services:
            port = int(address.partition(":")[2])
            backend = stack.enter_context(nginx.service(directory, port, document, auth.address))
            backend.wait_until(lambda address=address: web.responds(f"http://{address}", OPEN))
        service = services[1]

        targets = {"nginx itself": (backend, f"http://{service}", OPEN, [])}
        for peer in (nginx, traefik, caddy):
            port = free_port()
            program = stack.enter_context(peer.proxy(directory, port, service))
            url = f"http://127.0.0.1:{port}"
            program.wait_until(lambda url=url: web.responds(url, OPEN))
            targets[peer.__name__.rpartition(".")[2]] = (program, url, OPEN, [])
        port = free_port()
        program = stack.enter_context(nginx.proxy(directory, port, *services))
        url = f"http://127.0.0.1:{port}"
        program.wait_until(lambda: web.responds(url, OPEN))
        targets["nginx, two instances"] = (program, url, OPEN, [])
        gateway = suite.start_gateway(event_loops=1, auth=f"http://{service}", conversations=f"http://{service}")
        jwt = suite.sign_in(auth.url)
        targets["ours"] = (gateway.program, gateway.url, OPEN, [])
        targets["ours, jwt"] = (gateway.program, gateway.url, CLOSED, [f"Authorization: Bearer {jwt}"])
        both = ",".join(f"http://{address}" for address in services)
        for name, limits in (("two instances", {}), ("two instances, limits on", GENEROUS)):
            gateway = suite.start_gateway(event_loops=1, settings=limits, auth=both, conversations=both)
            targets[f"ours, {name}"] = (gateway.program, gateway.url, CLOSED, [f"Authorization: Bearer {jwt}"])

        for _, url, path, headers in targets.values():
            wrk.run(url + path, CONNECTIONS, 1, headers)
        figures = {name: [] for name in targets}
        for _ in range(ROUNDS):
            for name, (program, url, path, headers) in targets.items():
                figures[name].append(_round(program, url + path, headers, bench.seconds))
        medians = {name: _median(rounds) for name, rounds in figures.items()}
    bench.note("gateway, all figures", _detail(medians))
    return list(_rows(medians))


def _round(program, url, headers, seconds):
    before = program.cpu_seconds()
    load = wrk.run(url, CONNECTIONS, seconds, headers)
    cpu = (program.cpu_seconds() - before) * 1e6 / load.requests
    return {"cpu": cpu, "rate": load.rate, "p50": load.p50, "p99": load.p99, "rss": program.rss_bytes() / 1e6}


def _median(rounds):
    return {key: median(figures[key] for figures in rounds) for key in rounds[0]}


def _rows(medians):
    for ours, limit in (("ours", 45), ("ours, jwt", 50)):
        what = "gateway, jwt verified" if ours == "ours, jwt" else "gateway, open route"
        cost = medians[ours]["cpu"]
        for peer in ("nginx", "traefik", "caddy"):
            yield Row(what, "µs CPU per request", cost, peer, medians[peer]["cpu"], f"≤ {limit} µs", cost <= limit)
        yield Row(what, "requests/s", medians[ours]["rate"], "nginx", medians["nginx"]["rate"])
        yield Row(what, "p99, ms", medians[ours]["p99"], "nginx", medians["nginx"]["p99"])
    for ours in ("two instances", "two instances, limits on"):
        cost, peer = medians[f"ours, {ours}"]["cpu"], medians["nginx, two instances"]["cpu"]
        what = f"gateway, jwt, {ours}"
        yield Row(what, "µs CPU per request", cost, "nginx, two", peer, "≤ 50 µs", cost <= 50)


def _detail(medians):
    lines = [
        "| | µs CPU per request | requests/s | p50, ms | p99, ms | RSS, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, it in medians.items():
        lines.append(
            f"| {name} | {it['cpu']:.1f} | {it['rate']:,.0f} | {it['p50']:.2f} | {it['p99']:.2f} | {it['rss']:.0f} |"
        )
    return "\n".join(lines)
