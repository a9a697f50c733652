"""Runs the children of `make up`: starts them, brings back what dies, stops all of it in order.

Knows nothing of what they are. All children start from one thread: their leash is tied to it.
"""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM, Signals

from config.embedded import processes
from config.embedded.state import Process, Record

STEADY_S = 60.0  # after this long a death is news, not a loop
LONGEST_WAIT_S = 30.0
MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Service:
    """One child: how to start it, how to end it. Lower `order` ends first; the same, together."""

    name: str
    spawn: Callable[[], subprocess.Popen[bytes]]
    order: int
    end_signal: Signals = SIGTERM
    wait_s: float = 5.0


@dataclass(slots=True)
class _Running:
    service: Service
    child: subprocess.Popen[bytes]
    since: float
    failures: int = 0
    due: float | None = None


class Supervisor:
    """The children, and the record of them on disk."""

    def __init__(
        self,
        record: Record,
        path: Path,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._record, self._path, self._say, self._clock = record, path, say, clock
        self._running: dict[str, _Running] = {}

    def start(self, service: Service) -> subprocess.Popen[bytes]:
        """Starts a child and writes it down."""
        child = self._spawn(service)
        self._running[service.name] = _Running(service, child, self._clock())
        return child

    def tend(self) -> None:
        """One look at all: what died is started again, at once the first time, then ever later."""
        now = self._clock()
        for running in self._running.values():
            if running.due is None:
                self._notice_death(running, now)
            if running.due is not None and running.due <= now:
                running.child, running.since, running.due = self._spawn(running.service), now, None

    def hopeless(self) -> str | None:
        """The name of a child that keeps dying, if one does."""
        return next((name for name, each in self._running.items() if each.failures > MOST_FAILURES), None)

    def stop_all(self) -> None:
        """Ends every child, one order after the other; nothing is left running."""
        orders = sorted({running.service.order for running in self._running.values()})
        for order in orders:
            group = [running for running in self._running.values() if running.service.order == order]
            for running in group:
                if running.child.poll() is None:
                    running.child.send_signal(running.service.end_signal)
            for running in group:
                processes.stop(running.child, running.service.wait_s, running.service.end_signal)
        self._running.clear()
        self._record.children.clear()
        self._record.save(self._path)

    def _spawn(self, service: Service) -> subprocess.Popen[bytes]:
        child = service.spawn()
        self._record.children[service.name] = Process.of(child.pid)
        self._record.save(self._path)
        return child

    def _notice_death(self, running: _Running, now: float) -> None:
        code = running.child.poll()
        if code is None:
            return
        running.failures = 1 if now - running.since > STEADY_S else running.failures + 1
        wait_s = 0.0 if running.failures == 1 else min(2.0 ** (running.failures - 2), LONGEST_WAIT_S)
        running.due = now + wait_s
        again = f"again in {wait_s:.0f} s" if wait_s else "starting it again"
        self._say(f"{running.service.name} ended ({_cause(code)}), {again}")


def _cause(code: int) -> str:
    return f"killed by {Signals(-code).name}" if code < 0 else f"exit code {code}"
