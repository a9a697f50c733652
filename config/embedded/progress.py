"""What `make up` says: one line a step, and why a step failed."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TAIL_LINES = 20
_unfinished = False


def say(line: str) -> None:
    """One whole line; a step's line that was begun is left as it is."""
    global _unfinished
    sys.stdout.write(f"\n{line}\n" if _unfinished else f"{line}\n")
    sys.stdout.flush()
    _unfinished = False


@contextmanager
def step(name: str) -> Iterator[list[str]]:
    """Names the step, runs it, ends its line with the notes that the step adds to the list."""
    _begin(name)
    began, notes = time.monotonic(), list[str]()
    try:
        yield notes
    except BaseException:
        _end("not done")
        raise
    _end(f"{', '.join(notes) or 'ready'} ({time.monotonic() - began:.1f} s)")


def _begin(name: str) -> None:
    global _unfinished
    sys.stdout.write(f"  {name} ... ")
    sys.stdout.flush()
    _unfinished = True


def _end(words: str) -> None:
    global _unfinished
    sys.stdout.write(f"{words}\n" if _unfinished else f"  ... {words}\n")
    sys.stdout.flush()
    _unfinished = False


def tail(log: Path) -> str:
    """The end of a log, to be shown when its program failed."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in lines)
