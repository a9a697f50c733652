"""The stores of a test run: one Postgres, one Valkey; each worker has databases of its own.

Addresses are chosen when tests/settings.py is read; servers start later, in the process that chose them only.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

from config.embedded import ports, postgres, processes, valkey

PASSWORD = "only-for-tests"
VALKEY_DATABASES = 65
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300")


def choose_addresses() -> bool:
    """Sets DATABASE_URL and VALKEY_URL unless they are set; True if this process is to start the servers."""
    chosen = "DATABASE_URL" not in os.environ
    if chosen:
        database_port = ports.free()
        os.environ["DATABASE_URL"] = postgres.url(database_port, PASSWORD)
        os.environ["VALKEY_URL"] = valkey.url(ports.free(taken=frozenset({database_port})))
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        server = os.environ["VALKEY_URL"].rpartition("/")[0]
        os.environ["VALKEY_URL"] = f"{server}/{int(worker.removeprefix('gw')) + 1}"
    return chosen


class Stores:
    """Both servers, in a folder of their own that goes when they stop."""

    def __init__(self, database_port: int, valkey_port: int) -> None:
        self._ports = database_port, valkey_port
        self._folder = Path(tempfile.mkdtemp(prefix="parley-tests-"))
        # Postgres's data lies beside it: run as root, it belongs to somebody who may not enter the folder.
        self._data = Path(tempfile.mkdtemp(prefix="parley-tests-"))
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self) -> Self:
        """Both, ready; about two seconds, most of it initdb."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self) -> None:
        database_port, valkey_port = self._ports
        log = self._folder / "log"
        who = postgres.prepare(self._data, PASSWORD)
        cache = valkey.start(self._folder / "valkey", valkey_port, log, databases=VALKEY_DATABASES)
        self._children.append(cache)
        database = postgres.start(self._data, database_port, log, who, FAST)
        self._children.append(database)
        processes.wait_until(lambda: postgres.accepts(database_port, PASSWORD), database, "Postgres", 60)
        processes.wait_until(lambda: valkey.answers(valkey_port), cache, "Valkey", 20)
        postgres.ensure_database(database_port, PASSWORD)

    def stop(self) -> None:
        """Ends both and removes what they wrote; says so if one had ended by itself."""
        early = [child.args for child in self._children if child.poll() is not None]
        if early:
            tail = "\n".join((self._folder / "log").read_text().splitlines()[-20:])
            sys.stderr.write(f"A store ended before the tests did: {early}\n{tail}\n")
        for child in self._children:
            processes.stop(child, 10, postgres.END_SIGNAL)
        for folder in (self._folder, self._data):
            shutil.rmtree(folder, ignore_errors=True)
