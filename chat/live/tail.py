"""What a reader gets whose log is gone: the row if it ended, else the checkpoints (protocol 6)."""

import uuid

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

from chat.lifecycle import parts_text
from chat.models import Generation, GenerationChunk
from inference.core import recovery
from inference.core.events import ROW_DONE_N, ROW_SNAPSHOT_N, Done, EntryId, Snapshot, encode, text_parts
from inference.seams import RowsDown
from inference.streams import Entry


@database_sync_to_async
def entries_after(pk: uuid.UUID, last: EntryId) -> list[Entry]:
    """`snapshot` and `done` of an ended answer, a `snapshot` of newer checkpoints, or nothing yet. Raises RowsDown."""
    try:
        return _entries_after(pk, last)
    except (OperationalError, InterfaceError) as error:
        raise RowsDown(type(error).__name__) from error


def _entries_after(pk: uuid.UUID, last: EntryId) -> list[Entry]:
    row = Generation.objects.select_related("message").filter(pk=pk).first()
    if row is None:
        return [_done(last.attempt, Done("failed", 0, error_code="deleted"))]
    parts = row.message.parts if row.message else []
    if row.state not in Generation.OPEN:
        length = len(parts_text(parts))
        done = Done(row.state, length, row.finish_reason, row.usage, row.error_code)
        attempt = max(row.attempt, last.attempt)
        return [
            Entry(EntryId(attempt, ROW_SNAPSHOT_N), encode(Snapshot(parts))),
            _done(attempt, done),
        ]
    chunks = GenerationChunk.objects.filter(generation=row).order_by("attempt", "n_to", "n_from")
    saved = recovery.from_checkpoints(list(chunks.values_list("attempt", "n_to", "body")))
    if saved.last <= last:
        return []
    return [Entry(saved.last, encode(Snapshot(text_parts(saved.progress.text))))]


def _done(attempt: int, event: Done) -> Entry:
    return Entry(EntryId(attempt, ROW_DONE_N), encode(event))
