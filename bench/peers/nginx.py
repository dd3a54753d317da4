"""nginx (Debian): as the upstream of the gateways, and as a gateway, a store and a file server."""

from bench.processes import Program

COMMON = """
worker_processes 1;
daemon off;
pid {directory}/{name}.pid;
error_log {directory}/{name}.error.log;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    client_body_temp_path {directory}/{name}-body;
    proxy_temp_path {directory}/{name}-proxy;
    fastcgi_temp_path {directory}/{name}-fastcgi;
    uwsgi_temp_path {directory}/{name}-uwsgi;
    scgi_temp_path {directory}/{name}-scgi;
    keepalive_requests 10000000;
    {body}
}}
"""

SERVICE = """
    upstream auth {{ server {auth}; keepalive 16; }}
    server {{
        listen 127.0.0.1:{port};
        default_type application/json;
        location = /conversations {{ alias {document}; }}
        location = /.well-known/openid-configuration {{ alias {document}; }}
        location = /health {{ return 200 '{{"status":"ok"}}'; }}
        location = /ready {{ return 200 '{{"status":"ready"}}'; }}
        location / {{ proxy_pass http://auth; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    }}
"""

PROXY = """
    upstream service {{ {servers} keepalive 64; keepalive_requests 10000000; }}
    server {{
        listen 127.0.0.1:{port}{secure};
        keepalive_timeout 75s;
        location / {{
            proxy_pass http://service;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Request-Id $request_id;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
"""


STORE = """
    server {{
        listen 127.0.0.1:{port};
        root {directory}/files;
        location / {{ dav_methods PUT; create_full_put_path on; client_max_body_size 32m; }}
    }}
"""


FILES = """
    sendfile on;
    tcp_nopush on;
    open_file_cache max=1000;
    server {{
        listen 127.0.0.1:{port};
        root {directory}/files;
    }}
"""


def store(directory, port):
    """Starts a server that stores files by PUT."""
    (directory / "files").mkdir()
    directory.chmod(0o777)
    (directory / "files").chmod(0o777)
    return _start(directory, "nginx-store", STORE.format(port=port, directory=directory))


def files(directory, port):
    """Starts a server of the files in `files` below the directory."""
    (directory / "files").mkdir()
    directory.chmod(0o755)
    return _start(directory, "nginx-files", FILES.format(port=port, directory=directory))


def service(directory, port, document, auth):
    """Starts an upstream that serves `/conversations` and one open route of auth, and proxies the rest."""
    return _start(directory, f"nginx-service-{port}", SERVICE.format(port=port, document=document, auth=auth))


def proxy(directory, port, *upstreams, certificate=None):
    """Starts a proxy. Of several upstreams it chooses the one with the fewest open requests, as Roost's gateway does.

    With a certificate, it uses TLS and HTTP/2.
    """
    servers = ("least_conn; " if len(upstreams) > 1 else "") + " ".join(f"server {address};" for address in upstreams)
    secure = ""
    if certificate:
        secure = f" ssl http2; ssl_certificate {certificate.certificate}; ssl_certificate_key {certificate.key}"
    return _start(directory, f"nginx-{port}", PROXY.format(port=port, servers=servers, secure=secure))


def _start(directory, name, body):
    configuration = directory / f"{name}.conf"
    configuration.write_text(COMMON.format(directory=directory, name=name, body=body))
    return Program(
        name, ["nginx", "-p", directory, "-c", configuration, "-e", directory / f"{name}.start.log"], directory
    )
