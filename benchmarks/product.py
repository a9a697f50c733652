"""Starts the product to be measured: Postgres as in production, Valkey, one web process, one dispatcher.

Whatever a benchmark leaves out (Celery, the encoder) is simply not started. No load in here.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from config.embedded import ports, postgres, processes, valkey

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "only-for-benchmarks"
FRAME_BYTES = "20000000"
START_S = 60.0


class Product:
    """A context manager; `pids` of postgres, valkey, web and dispatcher while it runs."""

    def __init__(self, catalogue: str, *, server: str = "daphne") -> None:
        self._server = server
        self._exit = ExitStack()
        self._folder = Path(tempfile.mkdtemp(prefix="parley-bench-"))
        # Postgres's data lies beside it: run as root, it belongs to somebody who may not enter the folder.
        self._data = Path(tempfile.mkdtemp(prefix="parley-bench-"))
        self._catalogue = self._folder / "catalogue.toml"
        self._catalogue.write_text(catalogue)
        self._environment: dict[str, str] = {}
        self.port = 0
        self.pids: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._exit.callback(self._remove)
        try:
            self._start_stores()
            self._run_to_end([sys.executable, "manage.py", "migrate", "-v", "0"])
            self._start_web()
            self._start("dispatcher", [sys.executable, "manage.py", "run_dispatcher"])
        except BaseException:
            self._exit.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def people(self, count: int) -> list[str]:
        """Tokens of so many new people."""
        return list(json.loads(self._run_to_end([sys.executable, "-m", "benchmarks.people", str(count)])))

    def log(self, name: str) -> str:
        """What a process wrote."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _start_stores(self) -> None:
        database_port = ports.free()
        cache_port = ports.free(taken=frozenset({database_port}))
        who = postgres.prepare(self._data, PASSWORD)
        cache = valkey.start(self._folder / "valkey", cache_port, self._folder / "valkey.log")
        self._own("valkey", cache)
        database = postgres.start(self._data, database_port, self._folder / "postgres.log", who)
        self._own("postgres", database)
        processes.wait_until(lambda: postgres.accepts(database_port, PASSWORD), database, "Postgres", START_S)
        processes.wait_until(lambda: valkey.answers(cache_port), cache, "Valkey", START_S)
        postgres.ensure_database(database_port, PASSWORD)
        self._environment = {
            **os.environ,
            "DATABASE_URL": postgres.url(database_port, PASSWORD),
            "VALKEY_URL": valkey.url(cache_port),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PARLEY_ENV": "development",
            "CATALOGUE": str(self._catalogue),
        }

    def _start_web(self) -> None:
        self.port = ports.free()
        web = self._start("web", web_command(self._server, self.port))
        processes.wait_until(lambda: _listens(self.port), web, "the web process", START_S)

    def _start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        log = self._folder / f"{name}.log"
        child = processes.start(command, log, environment=self._environment, folder=ROOT)
        return self._own(name, child)

    def _own(self, name: str, child: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        self.pids[name] = child.pid
        self._exit.callback(processes.stop, child, 10, postgres.END_SIGNAL)
        return child

    def _run_to_end(self, command: Sequence[str]) -> bytes:
        ran = subprocess.run(command, cwd=ROOT, env=self._environment, check=True, stdout=subprocess.PIPE)
        return ran.stdout

    def _remove(self) -> None:
        for folder in (self._folder, self._data):
            shutil.rmtree(folder, ignore_errors=True)


def web_command(server: str, port: int) -> list[str]:
    """How each ASGI server is started; no access logs, as `make up` does."""
    if server == "uvicorn":
        options = ["--host", "127.0.0.1", "--port", str(port), "--no-access-log", "--lifespan", "off"]
        options += ["--loop", "uvloop", "--ws", "websockets-sansio", "--ws-max-size", FRAME_BYTES]
    elif server == "daphne":
        options = ["-v", "0", "--no-server-name", "-b", "127.0.0.1", "-p", str(port)]
        options += ["--websocket-max-message-size", FRAME_BYTES, "--websocket-max-frame-size", FRAME_BYTES]
    else:
        raise ValueError(f"ASGI_SERVER is daphne or uvicorn, not {server}")
    return [sys.executable, "-m", server, *options, "config.asgi:application"]


def catalogue_text(url: str, *, context_length: int, max_running: int) -> str:
    """A catalogue of one model on one engine with room for every stream."""
    return f"""\
[[models]]
id = "fake"
name = "Fake"
version = "1"
default = true
context_length = {context_length}
max_tokens = 512
continues = ["ids", "text"]
[models.sampling]
temperature = 0.0
[[models.replicas]]
id = "r1"
url = "{url}"
max_running = {max_running}
"""


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
