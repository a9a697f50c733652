"""Starts a program on a leash and stops it: the one way any child of ours begins and ends.

Each child has a session of its own, so that a Ctrl-C in the terminal reaches the supervisor alone.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")


class StartFailed(Exception):
    """A program ended or did not answer in time; the message says which, the log says why."""

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


def start(
    command: Sequence[str | Path],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | str = "/",
    end_signal: signal.Signals = signal.SIGTERM,
    prefix: Sequence[str] = (),
    leash: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """A running child that gets `end_signal` when this process dies, whichever way; output goes to `log`."""
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 commands are ours
            [*prefix, *leashed(command, end_signal, leash)],
            cwd=folder,
            env=dict(environment) if environment is not None else None,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def leashed(
    command: Sequence[str | Path], end_signal: signal.Signals = signal.SIGTERM, leash: Sequence[str] = ()
) -> list[str]:
    """The command behind leash.py, whose options `leash` are."""
    holder = [sys.executable, "-I", str(LEASH), "--signal", end_signal.name, "--parent", str(os.getpid())]
    return [*holder, *leash, "--", *map(str, command)]


def stop(child: subprocess.Popen[bytes], wait_s: float, end_signal: signal.Signals = signal.SIGTERM) -> None:
    """Asks the child to end, kills its session after `wait_s`; twice is as good as once."""
    if child.poll() is not None:
        return
    child.send_signal(end_signal)
    try:
        child.wait(wait_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def run_to_end(
    command: Sequence[str | Path], log: Path, *, environment: Mapping[str, str], folder: Path
) -> None:
    """Runs a program that should end by itself; raises StartFailed if it fails, kills it if interrupted."""
    child = start(command, log, environment=environment, folder=folder)
    try:
        if child.wait() != 0:
            raise StartFailed(f"{log.stem} failed", log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # what it started itself, too


def wait_until(ready: Callable[[], bool], child: subprocess.Popen[bytes], name: str, wait_s: float) -> None:
    """Returns once `ready`; raises StartFailed if the child ends first or time runs out."""
    until = time.monotonic() + wait_s
    while not ready():
        if child.poll() is not None:
            raise StartFailed(f"{name} ended with {child.returncode}")
        if time.monotonic() > until:
            raise StartFailed(f"{name} did not answer within {wait_s:.0f} s")
        time.sleep(0.05)
