"""`make chaos RUNS=40 SEED=1 MODE=single`: one storm; its JSON is the last line, the exit status its judgement."""

import asyncio
import json
import os
import random
import sys

from tests.chaos.storm import Storm, say


def main() -> int:
    """0 if nothing was lost, repeated, left or unfinished."""
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
    mode = os.environ.get("MODE") or "single"
    if mode not in ("single", "double"):
        raise SystemExit("MODE is single or double")
    say(f"SEED={seed} MODE={mode}")
    storm = Storm(seed=seed, mode=mode, runs=int(os.environ.get("RUNS") or 40))
    say(json.dumps(asyncio.run(storm.run())))
    return 0 if storm.counts.passed(mode) else 1


if __name__ == "__main__":
    sys.exit(main())
