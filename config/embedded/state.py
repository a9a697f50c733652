"""Which processes a `make up` runs, written down as they start: what a kill leaves can be found and stopped.

A pid alone proves nothing; it counts only together with the moment its process began.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self


class AlreadyRunning(Exception):
    """Another supervisor holds the lock."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    began: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """The process that has this pid now."""
        return cls(pid, _began(pid) or "")

    def is_alive(self) -> bool:
        """Whether that very process still runs."""
        return bool(self.began) and _began(self.pid) == self.began


@dataclass(slots=True)
class Record:
    """What `.data/run.json` holds."""

    address: str = ""
    supervisor: Process | None = None
    children: dict[str, Process] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Replaces the file in one step: it is whole at any moment."""
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self), indent=1))
        fresh.replace(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """What is written there; an empty record if there is none, or none that can be read."""
        try:
            raw = json.loads(path.read_text())
            children = {name: Process(**process) for name, process in raw["children"].items()}
            supervisor = raw["supervisor"] and Process(**raw["supervisor"])
            return cls(str(raw["address"]), supervisor, children)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Holds the lock that a running supervisor has, and that a kill frees; raises AlreadyRunning."""
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning from None
        yield


def stop_leftovers(
    record: Record, end_signals: Mapping[str, signal.Signals], wait_s: float = 10
) -> list[str]:
    """Ends what a killed supervisor left, if provably ours; returns the names of what was still there."""
    left = {name: process for name, process in record.children.items() if process.is_alive()}
    for name, process in left.items():
        _signal(process, end_signals.get(name, signal.SIGTERM))
    until = time.monotonic() + wait_s
    while time.monotonic() < until and any(process.is_alive() for process in left.values()):
        time.sleep(0.05)
    for process in left.values():
        _signal(process, signal.SIGKILL)
    return list(left)


def _signal(process: Process, number: signal.Signals) -> None:
    if process.is_alive():
        with suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)  # each child leads a session of its own
            else:
                os.kill(process.pid, number)


def _began(pid: int) -> str | None:
    if sys.platform == "linux":
        return _began_linux(pid)
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 ours
    return shown.stdout.strip() or None


def _began_linux(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    if fields[0] in "ZX":  # dead, only not yet waited for
        return None
    return f"{boot}:{fields[19]}"
