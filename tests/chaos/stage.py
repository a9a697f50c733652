"""The whole product for a storm: 2 engines, 2 dispatchers, 2 web, Valkey, Postgres, and a proxy on every link.

Postgres keeps its data and syncs as in production; Valkey keeps nothing. Each process has links of its own.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

from benchmarks.product import web_command
from config.embedded import ports, postgres, processes, valkey
from tests.chaos.actors import Actor, EngineActor
from tests.chaos.proxy import Proxy
from tests.engines.process import FakeEngine
from tests.rig import catalogue_text

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "only-for-tests"
ENGINES, DISPATCHERS, WEBS = ("e1", "e2"), ("d1", "d2"), ("web1", "web2")
LEASE_S = 1


class Stage:
    """An async context manager; `actors` by name, `links` by (process, dependency)."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="parley-chaos-"))
        # Postgres's data lies beside it: run as root, it belongs to somebody who may not enter the folder.
        self._data = Path(tempfile.mkdtemp(prefix="parley-chaos-"))
        self._ports = {name: _port() for name in ("postgres", "valkey", *WEBS)}
        self.actors: dict[str, Actor] = {}
        self.links: dict[tuple[str, str], Proxy] = {}

    @property
    def database_url(self) -> str:
        """Postgres itself, past the proxies: for who looks from outside."""
        return postgres.url(self._ports["postgres"], PASSWORD)

    @property
    def valkey_url(self) -> str:
        """Valkey itself."""
        return valkey.url(self._ports["valkey"])

    @property
    def engines(self) -> list[FakeEngine]:
        """Both."""
        return [actor.engine for actor in self.actors.values() if isinstance(actor, EngineActor)]

    def url(self, web: str) -> str:
        """Where a web process is."""
        return f"http://127.0.0.1:{self._ports[web]}"

    def log(self, name: str) -> str:
        """What a process wrote."""
        path = self._folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        for actor in reversed(self.actors.values()):
            await actor.kill()
        for link in self.links.values():
            await link.close()
        kept = os.environ.get("CHAOS_LOGS")
        if kept:
            shutil.copytree(self._folder, kept, dirs_exist_ok=True)
        for folder in (self._folder, self._data):
            shutil.rmtree(folder, ignore_errors=True)

    async def people(self, count: int) -> list[str]:
        """Tokens of so many new people."""
        made = await self._manage([sys.executable, "-m", "benchmarks.people", str(count)])
        return [str(token) for token in json.loads(made)]

    async def _start(self) -> None:
        who = await asyncio.to_thread(postgres.prepare, self._data, PASSWORD)
        self._add(
            "postgres", lambda: postgres.start(self._data, *self._at("postgres"), who), self._database_up
        )
        folder, cache = self._folder / "valkey", self._ports["valkey"]
        self._add("valkey", lambda: valkey.start(folder, *self._at("valkey")), lambda: valkey.answers(cache))
        for name in ENGINES:
            self.actors[name] = EngineActor(name, FakeEngine(name=name, seeded=True, first_ms=20))
        await self._start_actors("postgres", "valkey", *ENGINES)
        await self._start_links()
        for name in WEBS:
            self._add(
                name, self._starter(name, web_command("daphne", self._ports[name])), self._listens(name)
            )
        for name in DISPATCHERS:
            self._add(
                name, self._starter(name, [sys.executable, "manage.py", "run_dispatcher"]), lambda: True
            )
        await asyncio.to_thread(postgres.ensure_database, self._ports["postgres"], PASSWORD)
        await self._manage([sys.executable, "manage.py", "migrate", "-v", "0"])
        await self._start_actors(*WEBS, *DISPATCHERS)

    async def _start_actors(self, *names: str) -> None:
        await asyncio.gather(*(self.actors[name].start() for name in names))

    async def _start_links(self) -> None:
        targets = {name: self._ports[name] for name in ("postgres", "valkey")}
        for name, engine in zip(ENGINES, self.engines, strict=True):
            targets[name] = int(engine.url.rpartition(":")[2])
        for process in (*WEBS, *DISPATCHERS):
            for name, target in targets.items():
                link = self.links[process, name] = Proxy(_port(), target)
                await link.start()
            self._catalogue(process).write_text(self._catalogue_of(process))

    def _catalogue(self, process: str) -> Path:
        return self._folder / f"{process}.toml"

    def _catalogue_of(self, process: str) -> str:
        urls = [f"http://127.0.0.1:{self.links[process, engine].port}" for engine in ENGINES]
        return catalogue_text(urls, first_token_timeout_s=3, token_gap_timeout_s=2)

    def _environment(self, process: str) -> dict[str, str]:
        return {
            **os.environ,
            "DATABASE_URL": postgres.url(self.links[process, "postgres"].port, PASSWORD),
            "VALKEY_URL": valkey.url(self.links[process, "valkey"].port),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PARLEY_ENV": "development",
            "CATALOGUE": str(self._catalogue(process)),
            "LEASE_S": str(LEASE_S),
        }

    def _add(
        self, name: str, start: Callable[[], subprocess.Popen[bytes]], ready: Callable[[], bool]
    ) -> None:
        self.actors[name] = Actor(name, start, ready)

    def _starter(self, name: str, command: list[str]) -> Callable[[], subprocess.Popen[bytes]]:
        log = self._folder / f"{name}.log"
        environment = self._environment(name)
        return partial(processes.start, command, log, environment=environment, folder=ROOT)

    def _at(self, name: str) -> tuple[int, Path]:
        return self._ports[name], self._folder / f"{name}.log"

    def _database_up(self) -> bool:
        return postgres.accepts(self._ports["postgres"], PASSWORD)

    def _listens(self, web: str) -> Callable[[], bool]:
        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self._ports[web])) == 0

        return listens

    async def _manage(self, command: list[str]) -> bytes:
        environment = {**os.environ, "DATABASE_URL": self.database_url, "VALKEY_URL": self.valkey_url}
        environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "PARLEY_ENV": "development"}
        environment["CATALOGUE"] = str(self._catalogue(WEBS[0]))
        ran = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stdout=subprocess.PIPE
        )
        output, _ = await ran.communicate()
        assert ran.returncode == 0, command
        return output


_taken: set[int] = set()


def _port() -> int:
    """A free port that nobody here was given before."""
    port = ports.free(taken=frozenset(_taken))
    _taken.add(port)
    return port
