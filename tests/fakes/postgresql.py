"""A PostgreSQL server of our own on loopback, with a password, for as long as a block lasts."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.lab.processes import free_port

_PLACES = ["/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin"]


@dataclass(frozen=True)
class Server:
    port: int
    password: str
    bin: Path
    data: Path
    user: str | None

    def url(self, name):
        return f"postgresql://canary:{self.password}@127.0.0.1:{self.port}/{name}"

    def sql(self, statement, name="postgres"):
        self._do("psql", "-q", "-d", name, "-h", "127.0.0.1", "-p", self.port, "-U", "canary", "-c", statement)

    def new_database(self):
        name = f"t{secrets.token_hex(6)}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.data}"
        self._do("pg_ctl", "-D", self.data, "-l", self.data / "log", "-w", "-o", f"{options} -F", "start")

    def stop(self, mode="fast"):
        self._do("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def _do(self, program, *arguments):
        command = [str(self.bin / program), *map(str, arguments)]
        environment = {"PATH": os.environ["PATH"], "PGPASSWORD": self.password, "LC_ALL": "C"}
        done = subprocess.run(
            command,
            user=self.user,
            env=environment,
            cwd=self.data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()


def _programs():
    """The newest installed; None where there is none."""
    found = [path for place in _PLACES for path in Path("/").glob(place[1:]) if (path / "initdb").exists()]
    on_path = shutil.which("initdb")
    return max(found, key=lambda path: path.parts[-2], default=Path(on_path).parent if on_path else None)


@contextmanager
def postgresql():
    """It refuses to run as root, and its user cannot enter pytest's own folders: so it has one beside them."""
    programs = _programs()
    if programs is None:
        missing = "PostgreSQL is not installed; on Debian: apt-get install postgresql"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="canary-postgresql-", ignore_cleanup_errors=True) as folder:
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        server = Server(
            port=free_port(), password=secrets.token_hex(8), bin=programs, data=Path(folder) / "data", user=user
        )
        _create(server, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


def _create(server, folder):
    words = folder / "password"
    words.write_text(server.password, encoding="utf-8")
    words.chmod(0o644)
    command = [server.bin / "initdb", "-D", server.data, "-U", "canary", "-A", "scram-sha-256", "--pwfile", words]
    subprocess.run(
        [*command, "-E", "UTF8", "--locale=C.UTF-8", "-N"],
        user=server.user,
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
