"""nginx with a generated configuration, and the server for what nginx can't do."""

import dataclasses
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys

SMALL_SIZE = 1024

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {scratch}/nginx.pid;
error_log {scratch}/nginx.log warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=16 inactive=1h;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
    client_body_temp_path {scratch}/nginx.body;
    proxy_temp_path {scratch}/nginx.proxy;
    fastcgi_temp_path {scratch}/nginx.fastcgi;
    uwsgi_temp_path {scratch}/nginx.uwsgi;
    scgi_temp_path {scratch}/nginx.scgi;

    ssl_certificate {certificates.chain};
    ssl_certificate_key {certificates.key};
    ssl_protocols TLSv1.2 TLSv1.3;
    # Every handshake is a full one, so that the fresh connections of all clients cost the same work.
    ssl_session_cache off;
    ssl_session_tickets off;
    http2_max_concurrent_streams 256;

    server {{
        listen 127.0.0.1:{ports[0]} backlog=4096;
        listen 127.0.0.1:{ports[1]} backlog=4096 ssl;
        listen 127.0.0.1:{ports[2]} backlog=4096 ssl http2;
        root {scratch}/www;
        location /fresh/ {{ alias {scratch}/www/; keepalive_timeout 0; }}
        location = /cached {{ alias {scratch}/www/small; add_header Cache-Control max-age=86400; }}
        location = /json {{ default_type application/json; }}
        location = /status {{ stub_status; }}
    }}
}}
"""


def json_document():
    """About 1 KiB, as an API sends it: a page of seven users."""
    users = [{"id": 1000 + i, "name": f"User number {i}", "email": f"user{i}@example.org", "isActive": i % 2 == 0,
              "score": i * 1.25, "tags": ["one", "two", "three"]} for i in range(7)]
    return json.dumps({"page": 1, "users": users}).encode()


@dataclasses.dataclass
class Site:
    http: str
    https: str
    http2: str
    other: str
    echo: str
    authority: pathlib.Path
    upload: pathlib.Path
    download: pathlib.Path
    status: http.client.HTTPConnection

    def accepted(self):
        """How many connections nginx has accepted so far."""
        self.status.request("GET", "/status")
        return int(self.status.getresponse().read().split(b"\n")[2].split()[0])


def start(stack, scratch, certificates, server, bulk_size):
    scratch.chmod(0o755)  # Started by root, nginx serves as an unprivileged user.
    www = scratch / "www"
    www.mkdir()
    (www / "small").write_bytes(bytes(i % 251 for i in range(SMALL_SIZE)))
    (www / "json").write_bytes(json_document())
    _write_large_file(www / "big", bulk_size)
    ports = _start_nginx(stack, scratch, certificates)
    other = _start_server(stack, server, bulk_size)
    status = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=10)
    stack.callback(status.close)
    http_url, https_url, http2_url = (f"{scheme}://127.0.0.1:{port}" for scheme, port in
                                      zip(("http", "https", "https"), ports))
    return Site(http_url, https_url, http2_url, f"http://127.0.0.1:{other}", f"ws://127.0.0.1:{other}",
                certificates.authority, www / "big", scratch / "received", status)


def _write_large_file(path, size):
    """Not sparse: holes are sent from one page of zeros, whose copies cost several times more or less by chance."""
    piece = bytes(i % 251 for i in range(1 << 20))
    with open(path, "wb") as file:
        for start in range(0, size, len(piece)):
            file.write(piece[:size - start])


def _start_nginx(stack, scratch, certificates):
    """nginx takes over listening sockets that the variable NGINX names: no port can be lost in between."""
    sockets = [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(3)]
    ports = [each.getsockname()[1] for each in sockets]
    configuration = scratch / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(scratch=scratch, certificates=certificates, ports=ports))
    descriptors = [each.fileno() for each in sockets]
    environment = dict(os.environ, NGINX="".join(f"{number};" for number in descriptors))
    process = subprocess.Popen(["nginx", "-p", scratch, "-e", scratch / "nginx.log", "-c", configuration],
                               pass_fds=descriptors, env=environment)
    stack.callback(_end, process)
    for each in sockets:
        each.close()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=10)
        connection.request("GET", "/small")
        if len(connection.getresponse().read()) != SMALL_SIZE:
            raise OSError("nginx does not serve the small file")
        connection.close()
    except (OSError, http.client.HTTPException) as error:
        sys.exit((scratch / "nginx.log").read_text() + f"Benchmarks/run: nginx did not start: {error}")
    return ports


def _start_server(stack, program, bulk_size):
    process = subprocess.Popen([program, str(bulk_size)], stdout=subprocess.PIPE, text=True)
    stack.callback(_end, process)
    return int(process.stdout.readline())


def _end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
