"""The processes of a storm: each can be killed with all its children, started again, paused and woken.

What it runs is given as a function that starts it.
"""

import asyncio
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from tests.engines.process import FakeEngine

START_S = 60.0
Ready = Callable[[], bool]


class Actor:
    """One process and its children; `ready` tells whether it serves."""

    def __init__(self, name: str, start: Callable[[], subprocess.Popen[bytes]], ready: Ready) -> None:
        self.name, self._start, self._ready = name, start, ready
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def died(self) -> bool:
        """Whether it ended without having been killed."""
        return self._child is not None and self._child.poll() is not None

    async def start(self) -> None:
        """Run it; returns when it serves."""
        self._child = self._start()  # here, not in a thread: it dies with the thread that started it
        await until(lambda: self.died or self._ready(), f"{self.name} to serve", START_S)

    async def kill(self) -> None:
        """SIGKILL, the children too."""
        if self._child is None:
            return
        signal_all(self._child.pid, psutil.Process.kill)
        await asyncio.to_thread(self._child.wait, START_S)
        self._child = None

    def pause(self) -> None:
        """SIGSTOP, the children too."""
        if self._child is not None:
            signal_all(self._child.pid, psutil.Process.suspend)

    def wake(self) -> None:
        """SIGCONT."""
        if self._child is not None:
            signal_all(self._child.pid, psutil.Process.resume)


class EngineActor(Actor):
    """The fake engine, which starts itself and keeps its port."""

    def __init__(self, name: str, engine: FakeEngine) -> None:
        self.name, self.engine = name, engine
        self._killed = True

    @property
    def died(self) -> bool:
        """Whether it ended without having been killed."""
        return not self._killed and not self.engine.alive

    async def start(self) -> None:
        """Run it; returns when it serves."""
        await asyncio.to_thread(self.engine.start)
        self._killed = False

    async def kill(self) -> None:
        """SIGKILL."""
        self._killed = True
        await asyncio.to_thread(self.engine.kill)

    def pause(self) -> None:
        """SIGSTOP."""
        signal_all(self.engine.pid, psutil.Process.suspend)

    def wake(self) -> None:
        """SIGCONT."""
        signal_all(self.engine.pid, psutil.Process.resume)


def signal_all(pid: int, send: Callable[[psutil.Process], None]) -> None:
    """To a process and its children; the parent stops first, so that it makes no new ones meanwhile."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        parent.suspend()
        for process in [*parent.children(recursive=True), parent]:
            with suppress(psutil.NoSuchProcess):
                send(process)


async def until(condition: Callable[[], object], what: str, timeout_s: float) -> None:
    """Poll without holding up the loop; raises AssertionError in words when it does not come true."""
    deadline = time.monotonic() + timeout_s
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"waited {timeout_s:.0f} s for {what}"
        await asyncio.sleep(0.05)
