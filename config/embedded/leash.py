"""Becomes another program that dies with its parent, as another user if asked.

Run as a script, by path and with `python -I`: the standard library only, nothing of the project.
"""

import argparse
import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Drops to the user, asks the kernel for a signal at the parent's death, and executes the command."""
    options, command = _parse(arguments)
    if options.user is not None:
        os.setgroups([])
        os.setgid(options.group)
        os.setuid(options.user)
    if options.nice:
        os.nice(options.nice)
    _die_with_parent(signal.Signals[options.signal])  # after setuid, which clears it
    if options.parent is not None and os.getppid() != options.parent:
        sys.exit("the supervisor is gone")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606 this is the whole point


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser()
    parser.add_argument("--signal", default="SIGTERM")
    parser.add_argument("--parent", type=int)
    parser.add_argument("--user", type=int)
    parser.add_argument("--group", type=int)
    parser.add_argument("--nice", type=int, default=0)
    cut = arguments.index("--")
    return parser.parse_args(arguments[:cut]), arguments[cut + 1 :]


def _die_with_parent(number: signal.Signals) -> None:
    if sys.platform != "linux":
        return  # elsewhere the next start finds and stops what was left
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
