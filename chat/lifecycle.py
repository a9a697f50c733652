"""The table of states (protocol 2): claim, hand back, heartbeat, sweep, checkpoint, finish, close.

Each is one guarded statement in sql/; whoever's UPDATE meets 0 rows has lost the answer and touches nothing.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from accounts import limits
from chat.statements import Row, Statements
from inference.answer import Claim, Piece
from inference.core.events import text_parts
from inference.core.fair import Entry
from inference.core.values import Request
from inference.seams import Outcome, Swept, Unclosed, Waiting


def parts_text(parts: Sequence[dict[str, Any]]) -> str:
    """The text of a message's text parts."""
    return "".join(part.get("text", "") for part in parts if part.get("type") == "text")


class Rows:
    """`inference.seams.Rows` over Postgres."""

    def __init__(self, statements: Statements, lease_s: float = 3.0) -> None:
        self._run = statements.run
        self._lease_s = lease_s

    async def register(self, owner: UUID) -> None:
        """Make the dispatcher's row."""
        await self._run("heartbeat", owner=owner)

    async def leave(self, owner: UUID) -> None:
        """Delete it: its answers are free at once."""
        await self._run("leave", owner=owner)

    async def heartbeat(self, owner: UUID) -> list[UUID]:
        """Renew the lease; the answers that were asked to stop."""
        return [pk for (pk,) in await self._run("heartbeat", owner=owner)]

    async def claim(self, pk: UUID, owner: UUID) -> Claim | None:
        """Take it, or None."""
        rows = await self._run("claim", pk=pk, owner=owner, lease_s=self._lease_s)
        return _claim(pk, rows[0]) if rows else None

    async def reclaim(self, pk: UUID, attempt: int, owner: UUID, above: int) -> int | None:
        """A new attempt of what is still ours."""
        rows = await self._run("reclaim", pk=pk, attempt=attempt, owner=owner, above=above)
        return rows[0][0] if rows else None

    async def hand_back(self, pk: UUID, attempt: int, owner: UUID, *, failures: int) -> Waiting | None:
        """Queue it again, or None when it was not ours."""
        rows = await self._run("hand_back", pk=pk, attempt=attempt, owner=owner, failures=failures)
        found = await waiting(self._run, [pk for (pk,) in rows])
        return found[0] if found else None

    async def sweep(self) -> Swept:
        """What nobody looks after; dispatchers long dead are forgotten on the way."""
        await self._run("forget_dispatchers")
        swept, lost = Swept([], [], [], []), list[UUID]()
        for row in await self._run("sweep", lease_s=self._lease_s):
            _sort(row, swept, lost)
        swept.requeue.extend(await waiting(self._run, lost))
        return swept


class Sink:
    """`inference.seams.Sink` but for its closing step, which runner.py adds."""

    def __init__(self, statements: Statements) -> None:
        self._run = statements.run

    async def checkpoint(self, owner: UUID, pieces: Sequence[Piece]) -> set[UUID]:
        """Store what came since the last one; the pks that were still the owner's."""
        encoded = msgspec.json.encode(pieces).decode()
        return {pk for (pk,) in await self._run("checkpoint", owner=owner, pieces=encoded)}

    async def finish(self, pk: UUID, attempt: int, owner: UUID | None, outcome: Outcome) -> bool:
        """Row, message and ledger in one transaction; False when it was not ours."""
        parts = None if outcome.text is None else Jsonb(text_parts(outcome.text))
        usage = None if outcome.usage is None else Jsonb(outcome.usage)
        rows = await self._run(
            "finish",
            pk=pk,
            attempt=attempt,
            owner=owner,
            state=outcome.state,
            parts=parts,
            finish_reason=outcome.finish_reason,
            error_code=outcome.error_code,
            usage=usage,
        )
        return bool(rows)


def _claim(pk: UUID, row: Row) -> Claim:
    (
        attempt,
        model,
        version,
        message,
        failures,
        stop,
        seconds_left,
        policy,
        request,
        parts,
        user,
        client_id,
    ) = row
    return Claim(
        pk=pk,
        attempt=attempt,
        model=model,
        model_version=version,
        message=message,
        failures=failures,
        stop_requested=stop,
        seconds_left=seconds_left,
        policy_version=policy,
        standing=parts_text(parts),
        reservation=limits.reservation_name(user, client_id),
        request=msgspec.convert(request, Request) if request is not None else None,
    )


async def waiting(run: Callable[..., Awaitable[list[Row]]], pks: Sequence[UUID]) -> list[Waiting]:
    """These rows as their queues take them, in the order in which they came."""
    rows = await run("waiting", pks=list(pks)) if pks else []
    found = [Waiting(model, Entry(*known)) for model, *known in rows]
    return sorted(found, key=lambda one: one.entry.enqueued_at_ms)


def _sort(row: Row, swept: Swept, lost: list[UUID]) -> None:
    kind, pk, model, attempt, owner, state, finish_reason, error_code, usage, parts = row
    match kind:
        case "unclosed":
            outcome = Outcome(state, None, 0, finish_reason, error_code, usage)
            swept.unclosed.append(Unclosed(pk, model, attempt, owner, outcome, len(parts_text(parts or ()))))
        case "expired":
            swept.expired.append(pk)
        case "overdue":
            swept.overdue.append(pk)
        case _:
            lost.append(pk)


def encoded_counts(counts: dict[UUID, int]) -> str:
    """Message pks and their tokens, as freeze.sql takes them."""
    return json.dumps({str(pk): tokens for pk, tokens in counts.items()})
