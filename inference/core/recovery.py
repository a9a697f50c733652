"""What earlier attempts released, from an answer's log or from its checkpoints (protocol 4.2). Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from inference.core.events import BEFORE_ALL, Delta, Done, EntryId, Event, Extra, Snapshot, decode
from inference.core.reader import Action, Reader
from inference.core.values import Progress


class Recovered(NamedTuple):
    """An answer as far as a source has it, up to the entry `last`; `end` if the engine had finished."""

    last: EntryId
    progress: Progress
    end: dict[str, Any] | None


NOTHING = Recovered(BEFORE_ALL, Progress(), None)


def from_log(entries: Iterable[tuple[EntryId, bytes, bytes]]) -> Recovered:
    """The fold of a whole log by the reader rule, with the ids and the end that its entries carry."""
    reader, ids, tokens, end = Reader(), list[int](), 0, None
    known: list[int] | None = ids
    for entry, v, x in entries:
        event = decode(v)
        before = len(reader.text) if not isinstance(event, Delta) else 0
        if reader.take(entry, event) in {Action.DROP, Action.GAP}:
            continue
        extra = msgspec.json.decode(x, type=Extra) if x else Extra()
        known = _ids(known, event, extra, cut=not isinstance(event, Delta) and len(reader.text) < before)
        tokens = extra.tokens if x else tokens
        end = _end(event, extra) or end
    return Recovered(reader.last, Progress(reader.text, known, tokens), end)


def from_checkpoints(rows: Sequence[tuple[int, int, dict[str, Any]]]) -> Recovered:
    """The fold of checkpoints (attempt, n_to, body) in order: each stands on the first `at` characters.

    One that stands on more than there is waits for a later one that covers what was not written before it.
    """
    text, ids, tokens, end, last = "", list[int](), 0, None, BEFORE_ALL
    known: list[int] | None = ids
    for attempt, n_to, body in rows:
        at = body["at"]
        if at > len(text):
            continue
        known = _joined(known, body["ids_at"], body["ids"])
        text, tokens, end = text[:at] + body["text"], body["tokens"], body.get("end")
        last = EntryId(attempt, n_to)
    return Recovered(last, Progress(text, known, tokens), end)


def common(found: Progress, saved: Progress) -> tuple[int, int]:
    """How much of what was found is saved: code points and ids, (0, 0) where they don't agree."""
    known, kept = found.ids, saved.ids
    if not found.text.startswith(saved.text) or (known is not None and known[: len(kept or ())] != kept):
        return 0, 0
    return len(saved.text), len(kept or ()) if known is not None else 0


def _joined(known: list[int] | None, at: int, fresh: list[int] | None) -> list[int] | None:
    if fresh is None or at == 0:
        return fresh
    return known[:at] + fresh if known is not None and at <= len(known) else None


def _ids(known: list[int] | None, event: Event, extra: Extra, *, cut: bool) -> list[int] | None:
    if isinstance(event, Snapshot):
        return list(extra.ids) if extra.ids is not None else None
    if isinstance(event, Delta):
        return None if known is None or extra.ids is None else known + extra.ids
    return None if cut else known


def _end(event: Event, extra: Extra) -> dict[str, Any] | None:
    if isinstance(event, Done):
        reason, usage = event.finish_reason, event.usage
        return {"state": event.state, "reason": reason, "usage": usage, "error_code": event.error_code}
    return extra.end
