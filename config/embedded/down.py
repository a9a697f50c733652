"""`make down`: stops a running `make up`, or what a killed one left. Standard library only."""

import os
import signal
import sys
import time

from config.embedded import installation, state
from config.embedded.progress import say

WAIT_S = 60.0
# As in services.py, which would bring half of Parley along.
END_SIGNALS = {"postgres": signal.SIGINT}


def main() -> int:
    """Nothing of ours runs afterwards; 0 if that is so."""
    if not installation.DATA.is_dir():
        say("Parley is not running.")
        return 0
    record = state.Record.load(installation.RECORD)
    stopped = _stop_supervisor(record)
    left = state.stop_leftovers(state.Record.load(installation.RECORD), END_SIGNALS)
    if left:
        say(f"Stopped what a killed run had left: {', '.join(left)}")
    elif stopped:
        say("Parley has stopped.")
    else:
        say("Parley is not running.")
    return 0


def _stop_supervisor(record: state.Record) -> bool:
    supervisor = record.supervisor
    if supervisor is None or not supervisor.is_alive():
        return False
    os.kill(supervisor.pid, signal.SIGTERM)
    until = time.monotonic() + WAIT_S
    while supervisor.is_alive():
        if time.monotonic() > until:
            os.kill(supervisor.pid, signal.SIGKILL)
        time.sleep(0.1)
    return True


if __name__ == "__main__":
    sys.exit(main())
