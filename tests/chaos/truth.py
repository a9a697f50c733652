"""What the stores and the engines say themselves, past the proxies: rows, counts, slots, calls.

Read only; blocking, so that it runs in a thread.
"""

import time
from collections.abc import Mapping

import psycopg
import redis

from tests.chaos.counts import Counts
from tests.chaos.stage import Stage

_LEFT = """
SELECT id, state, attempt, owner, closed_at IS NOT NULL FROM chat_generation
WHERE state IN ('queued', 'running') OR closed_at IS NULL
"""
_COUNTED = "SELECT generation_id::text, completion_tokens FROM accounts_usageentry"
_BEATING = "SELECT count(*) FROM chat_dispatcher WHERE heartbeat_at > to_timestamp(%s)"


def beating(stage: Stage, since: float) -> int:
    """Dispatchers whose heartbeat came after a moment of the clock."""
    try:
        with psycopg.connect(
            stage.database_url, connect_timeout=2, options="-c statement_timeout=2s"
        ) as database:
            row = database.execute(_BEATING, [since]).fetchone()
    except psycopg.OperationalError:
        return 0
    return int(row[0]) if row else 0


def leases(stage: Stage) -> list[str]:
    """What is still held: rows that are not closed, their checkpoints, slots, engine calls."""
    with psycopg.connect(stage.database_url) as database:
        held = [f"row {row}" for row in database.execute(_LEFT).fetchall()]
        held += [
            f"chunk {row}" for row in database.execute("SELECT id, generation_id FROM chat_generationchunk")
        ]
    with redis.Redis.from_url(stage.valkey_url) as cache:
        for name in cache.scan_iter("*:slots:*"):
            held += [f"slot {name!r} {slot!r}" for slot in cache.zrange(name, 0, -1, withscores=True)]
    for engine in stage.engines:
        report = engine.report()
        held += [f"call at {report['name']}"] * (report["running"] + report["waiting"])
    return held


def await_free(stage: Stage, within_s: float) -> list[str]:
    """What is still held after so long."""
    deadline = time.monotonic() + within_s
    while (held := leases(stage)) and time.monotonic() < deadline:
        time.sleep(0.25)
    return held


def check_usage(stage: Stage, tokens: Mapping[str, int], counts: Counts) -> None:
    """Every answer was counted once, with the tokens that it has."""
    with psycopg.connect(stage.database_url) as database:
        counted = database.execute(_COUNTED).fetchall()
    found = dict(counted)
    counts.miscounted += len(counted) - len(found)
    for generation, expected in tokens.items():
        if found.get(generation) != expected:
            counts.miscounted += 1
            counts.note(f"{generation}: {found.get(generation)} tokens counted, {expected} said")


def mismatches(stage: Stage) -> int:
    """Calls that asked an engine to go on from what it never said."""
    return sum(request["mismatch"] for engine in stage.engines for request in engine.report()["requests"])
