"""A turn on its way into the rows: one statement for all of it, then the queue (chat/sql/begin.sql).

Only turns.py calls this; what may be written was decided there.
"""

import hashlib
import math
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from django.conf import settings
from django.db import connection, transaction
from psycopg.types.json import Jsonb
from redis.exceptions import RedisError

from accounts import limits
from accounts.models import new_pk
from chat import notices, statements
from chat.errors import ClientIdReused, NotFound, Overloaded
from chat.models import Generation
from chat.text import title
from inference import valkey
from inference.catalogue import Model
from inference.core.fair import Class, Entry
from inference.queue import Queue, read_crowd

logger = structlog.get_logger(__name__)

TITLE_CHARS = 60
LEAST_RETRY_S, MOST_RETRY_S = 2, 60


@dataclass(frozen=True, slots=True)
class Turn:
    """What was begun: keys of the rows, for whoever watches."""

    conversation: uuid.UUID
    message: uuid.UUID | None
    answer: uuid.UUID
    generation: uuid.UUID
    model: str
    state: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What one turn will write; `text` None means no user message of its own, `answer` an existing one."""

    user: uuid.UUID
    client_id: str
    body_hash: bytes
    model: Model
    priority: Class
    conversation: uuid.UUID | None
    parent: uuid.UUID | None
    text: str | None = None
    answer: uuid.UUID | None = None
    waits_for: uuid.UUID | None = None


def hashed(*values: Any) -> bytes:
    """What two requests under one client id are compared by."""
    return hashlib.sha256(msgspec.json.encode(values)).digest()


def known(user_pk: uuid.UUID, client_id: str, body_hash: bytes) -> Turn | None:
    """What this client id began before. Raises ClientIdReused for another body."""
    row = Generation.objects.filter(user_id=user_pk, client_id=client_id).select_related("message").first()
    if row is None:
        return None
    if bytes(row.body_hash) != body_hash:
        raise ClientIdReused
    if row.message is None:
        raise NotFound
    asked = row.message.parent_id
    return Turn(row.message.conversation_id, asked, row.message.pk, row.pk, row.model, row.state)


def write(plan: Plan) -> Turn:
    """One statement, then the queue on commit; a twin that was faster is returned instead."""
    reservation = limits.reserve(plan.user, plan.client_id, model=plan.model.id, tokens=plan.model.max_tokens)
    turn = Turn(
        plan.conversation or new_pk(),
        new_pk() if plan.text is not None else plan.parent,
        plan.answer or new_pk(),
        new_pk(),
        plan.model.id,
        Generation.State.QUEUED,
    )
    try:
        _admit(plan.model)
        entry = _insert(plan, turn)
    except BaseException:
        limits.release(reservation)
        raise
    if entry is None:
        twin = known(plan.user, plan.client_id, plan.body_hash)
        if twin is None:
            raise NotFound
        return twin
    if plan.waits_for is None:
        transaction.on_commit(lambda: _put(entry, plan.model))
    transaction.on_commit(lambda: notices.tell_conversation_changed(plan.user, turn.conversation))
    return turn


def _admit(model: Model) -> None:
    """Raises Overloaded where no more may wait; whoever slips in meanwhile waits in the rows for the sweep."""
    try:
        crowd = read_crowd(Queue(valkey.shared(), model.id).crowd())
    except (RedisError, OSError) as error:
        logger.warning("admitted_unseen", error=type(error).__name__)
        return
    if crowd.waiting >= model.queue_limit:
        raise Overloaded(min(max(math.ceil(crowd.wait_s or 0), LEAST_RETRY_S), MOST_RETRY_S))


def _insert(plan: Plan, turn: Turn) -> Entry | None:
    """What the queue must know of it; None where this client id was used before."""
    with connection.cursor() as cursor:
        cursor.execute(statements.text("begin"), _parameters(plan, turn))
        row = cursor.fetchone()
    if row is None:
        return None
    enqueued_at_ms, organisation, weight = row
    return Entry(
        pk=turn.generation,
        klass=plan.priority,
        sharer=str(organisation or plan.user),
        user=str(plan.user),
        weight=weight or 1,
        enqueued_at_ms=enqueued_at_ms,
        left_ms=settings.START_BY_S[plan.priority] * 1000,
        prefix=str(turn.conversation),
    )


def _parameters(plan: Plan, turn: Turn) -> dict[str, Any]:
    text = plan.text or ""
    start_by_s = settings.START_BY_S[plan.priority]
    return {
        "generation": turn.generation,
        "answer": turn.answer,
        "user": plan.user,
        "client_id": plan.client_id,
        "body_hash": plan.body_hash,
        "priority": plan.priority,
        "model": plan.model.id,
        "model_version": plan.model.version,
        "waits_for": plan.waits_for,
        "start_by_s": start_by_s,
        "deadline_s": start_by_s + settings.ANSWER_LIMIT_S,
        "conversation": turn.conversation,
        "starts": plan.conversation is None,
        "title": title(text, TITLE_CHARS),
        "conversation_model": plan.model.id,
        "message": turn.message if plan.text is not None else None,
        "parent": plan.parent,
        "parts": Jsonb([{"type": "text", "text": text}]),
        "writes_answer": plan.answer is None,
    }


def _put(entry: Entry, model: Model) -> None:
    try:
        Queue(valkey.shared(), model.id).put([entry], model.queue_limit)
    except (RedisError, OSError) as error:
        logger.warning("put_left_to_sweep", error=type(error).__name__)
