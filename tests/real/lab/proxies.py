"""nginx, HAProxy and Caddy in front of the agent, each with the read timeouts that the tests ask for.

One process a kind, with one listener for each timeout; unprivileged ports on loopback, everything they write in a
temporary folder. Only the setting that is named here differs from a plain reverse proxy for streams.
"""

import getpass
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.lab.hop import Hop
from tests.real.lab.processes import Command, free_port, running

READ_TIMEOUTS_S = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """`render` takes the ports by read timeout and the upstream port; `argv` takes the binary and the folder."""

    render: Callable[[Mapping[int, int], int], str]
    argv: Callable[[str, Path], tuple[str, ...]]


def _nginx(ports: Mapping[int, int], upstream_port: int, buffering: str) -> str:
    servers = "\n".join(
        f"""
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{upstream_port};
            proxy_http_version 1.1;
            {buffering}
            proxy_read_timeout {limit_s}s;
        }}
    }}"""
        for limit_s, port in ports.items()
    )
    # Its workers leave root for `nobody`, who may not write into the temporary folder.
    user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "\n    ".join(f"{kind}_temp_path {kind}_temp;" for kind in kinds)
    return f"""
{user}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr info;
events {{}}
http {{
    access_log off;
    {folders}
    {servers}
}}
"""


def _haproxy(ports: Mapping[int, int], upstream_port: int) -> str:
    listeners = "\n".join(
        f"""
listen edge{limit_s}
    bind 127.0.0.1:{port}
    timeout server {limit_s}s
    server agent 127.0.0.1:{upstream_port}"""
        for limit_s, port in ports.items()
    )
    return f"""
defaults
    mode http
    timeout connect 5s
    timeout client 300s
{listeners}
"""


def _caddy(ports: Mapping[int, int], upstream_port: int) -> str:
    sites = "\n".join(
        f"""
http://127.0.0.1:{port} {{
    reverse_proxy 127.0.0.1:{upstream_port} {{
        flush_interval -1
        transport http {{
            read_timeout {limit_s}s
        }}
    }}
}}"""
        for limit_s, port in ports.items()
    )
    return f"""
{{
    admin off
    auto_https off
}}
{sites}
"""


def _nginx_argv(binary: str, folder: Path) -> tuple[str, ...]:
    return (binary, "-p", str(folder), "-c", str(folder / "config"), "-e", "stderr")


def _haproxy_argv(binary: str, folder: Path) -> tuple[str, ...]:
    return (binary, "-db", "-f", str(folder / "config"))


def _caddy_argv(binary: str, folder: Path) -> tuple[str, ...]:
    return (binary, "run", "--config", str(folder / "config"), "--adapter", "caddyfile")


KINDS: Mapping[str, Kind] = {
    "nginx": Kind(render=lambda ports, upstream: _nginx(ports, upstream, "proxy_buffering off;"), argv=_nginx_argv),
    "nginx-buffering": Kind(render=lambda ports, upstream: _nginx(ports, upstream, ""), argv=_nginx_argv),
    "haproxy": Kind(render=_haproxy, argv=_haproxy_argv),
    "caddy": Kind(render=_caddy, argv=_caddy_argv),
}


def binary_of(kind: str) -> str | None:
    """The installed program, also where it is in a folder for administrators that PATH may leave out."""
    search = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"
    return shutil.which(kind.partition("-")[0], path=search)


@contextmanager
def proxy(kind: str, folder: Path, *, upstream: Hop, read_timeouts_s: tuple[int, ...]) -> Iterator[Mapping[int, Hop]]:
    """The running proxy's hops by read timeout."""
    ports = {limit_s: free_port() for limit_s in read_timeouts_s}
    binary = binary_of(kind)
    if binary is None:
        raise FileNotFoundError(kind)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config").write_text(KINDS[kind].render(ports, upstream.port), encoding="utf-8")
    command = Command(
        name=kind,
        argv=KINDS[kind].argv(binary, folder),
        ready_url=f"http://127.0.0.1:{next(iter(ports.values()))}/health",
        ready_limit_s=20.0,
        env={"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},  # where Caddy keeps its state
        folder=folder,
    )
    with running(command) as process:
        yield {limit_s: Hop(name=kind, port=port, process=process) for limit_s, port in ports.items()}
