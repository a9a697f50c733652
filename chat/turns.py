"""READ THIS FIRST. What a person does: send, edit, regenerate, continue, stop. The one path of every surface.

Order (protocol 7): known client id, reserve, moderate, admit, write, queue. No HTTP and no socket in here.
"""

import uuid
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.db import connection, transaction
from redis.exceptions import RedisError

from chat import access, notices, statements, writing
from chat.errors import AnswerRunning, FieldError, Invalid, NotFound, NotResumable
from chat.models import Generation, Message
from chat.text import clean
from chat.writing import Plan, Turn
from inference import catalogue, keys, valkey
from inference.catalogue import Model
from inference.core.fair import Class

logger = structlog.get_logger(__name__)


def begin(
    user_pk: uuid.UUID,
    *,
    client_id: str,
    conversation: uuid.UUID | None,
    parent: uuid.UUID | None,
    text: str,
    model: str | None = None,
    priority: Class = "interactive",
) -> Turn:
    """Send a message and queue its answer, or return what this client id began before.

    Raises NotFound, Invalid, AnswerRunning, ClientIdReused.
    """
    text = _checked(text)
    body_hash = writing.hashed("send", conversation, parent, text, model)
    with transaction.atomic():
        met = _meet(user_pk, client_id, conversation, parent)
        if met.is_known and (known := writing.known(user_pk, client_id, body_hash)):
            return known
        chosen = _model(model)
        waits_for = _follow(met, conversation, parent)
        plan = Plan(
            user_pk, client_id, body_hash, chosen, priority, conversation, parent, text, waits_for=waits_for
        )
        return writing.write(plan)


def edit(
    user_pk: uuid.UUID, *, client_id: str, message: uuid.UUID, text: str, model: str | None = None
) -> Turn:
    """A sibling of a user message, with an answer of its own. Raises as `begin`."""
    text = _checked(text)
    body_hash = writing.hashed("edit", message, text, model)
    if known := writing.known(user_pk, client_id, body_hash):
        return known
    row = _message(user_pk, message, Message.Role.USER)
    return writing.write(
        Plan(
            user_pk,
            client_id,
            body_hash,
            _model(model),
            "interactive",
            row.conversation_id,
            row.parent_id,
            text,
        )
    )


def regenerate(user_pk: uuid.UUID, *, client_id: str, message: uuid.UUID, model: str | None = None) -> Turn:
    """A sibling of an assistant message; a running one is not touched. Raises as `begin`."""
    body_hash = writing.hashed("regenerate", message, model)
    if known := writing.known(user_pk, client_id, body_hash):
        return known
    row = _message(user_pk, message, Message.Role.ASSISTANT)
    return writing.write(
        Plan(user_pk, client_id, body_hash, _model(model), "interactive", row.conversation_id, row.parent_id)
    )


def resume(user_pk: uuid.UUID, *, client_id: str, message: uuid.UUID) -> Turn:
    """A new generation of the same assistant message, from the text that stands.

    Raises NotResumable where the last one is complete or blocked, AnswerRunning while one is open.
    """
    body_hash = writing.hashed("continue", message)
    if known := writing.known(user_pk, client_id, body_hash):
        return known
    row = _message(user_pk, message, Message.Role.ASSISTANT)
    with transaction.atomic():
        Message.objects.select_for_update().get(pk=row.pk)
        last = Generation.objects.filter(message=row).order_by("-id").first()
        if last is None or last.state in (Generation.State.COMPLETE, Generation.State.BLOCKED):
            raise NotResumable
        if last.state in Generation.OPEN:
            raise AnswerRunning
        plan = Plan(
            user_pk,
            client_id,
            body_hash,
            _model(last.model),
            "interactive",
            row.conversation_id,
            row.parent_id,
            answer=row.pk,
        )
        return writing.write(plan)


def stop(user_pk: uuid.UUID, generation: uuid.UUID) -> str:
    """Ask an answer to stop; returns the state it has now. Idempotent; text released before stays."""
    row = access.generation(user_pk, generation)
    if row.state not in Generation.OPEN:
        return row.state
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE chat_generation SET stop_requested_at = coalesce(stop_requested_at, now())
               WHERE id = %s AND state IN ('queued', 'running') RETURNING state, attempt, owner""",
            [row.pk],
        )
        found = cursor.fetchone()
    if found is None:
        return Generation.objects.values_list("state", flat=True).get(pk=row.pk)
    state, attempt, owner = str(found[0]), found[1], found[2]
    if owner is not None:
        _publish_stop(owner, row.pk)
    elif attempt == 0 and _stop_queued(row.pk):
        notices.tell_conversation_changed(user_pk, row.message.conversation_id if row.message else row.pk)
        return Generation.State.STOPPED
    return state


def _checked(text: str) -> str:
    text = clean(text)
    if not text.strip():
        raise Invalid(errors=(FieldError("text", "Write something: the message is empty."),))
    if len(text) > settings.MAX_MESSAGE_CHARS:
        reason = f"The message is too long: {len(text)} characters."
        raise Invalid(errors=(FieldError("text", reason, settings.MAX_MESSAGE_CHARS),))
    return text


def _model(name: str | None) -> Model:
    models = catalogue.current()
    model = models.find(name) if name else models.default
    if model is None:
        raise Invalid(errors=(FieldError("model", "There is no such model; GET /api/v1/models lists them."),))
    return model


def _message(user_pk: uuid.UUID, pk: uuid.UUID, role: str) -> Message:
    row = access.message(user_pk, pk)
    if row.role != role:
        raise Invalid(errors=(FieldError("message", f"This takes a message of the {role}."),))
    return row


class _Met(NamedTuple):
    """What a send meets: meet.sql."""

    is_known: bool
    has_conversation: bool
    has_leaf: bool
    parent_role: str | None
    running: uuid.UUID | None
    is_stopping: bool | None


def _meet(
    user_pk: uuid.UUID, client_id: str, conversation: uuid.UUID | None, parent: uuid.UUID | None
) -> _Met:
    """One round trip for all that `begin` must know; the parent's open generation is locked."""
    parameters: dict[str, Any] = {"user": user_pk, "client_id": client_id}
    parameters |= {"conversation": conversation, "parent": parent}
    with connection.cursor() as cursor:
        cursor.execute(statements.text("meet"), parameters)
        row = cursor.fetchone()
    assert row is not None  # noqa: S101 meet.sql always gives one row
    return _Met(*row)


def _follow(met: _Met, conversation: uuid.UUID | None, parent: uuid.UUID | None) -> uuid.UUID | None:
    """What to wait for: the parent's open answer, if it was asked to stop. Raises AnswerRunning."""
    if conversation is None:
        if parent is not None:
            raise Invalid(errors=(FieldError("parent", "A new conversation has no message to follow."),))
        return None
    if not met.has_conversation:
        raise NotFound
    if parent is None:
        if met.has_leaf:
            raise Invalid(errors=(FieldError("parent", "Name the message that this one follows."),))
        return None
    if met.parent_role is None:
        raise NotFound
    if met.parent_role != Message.Role.ASSISTANT:
        raise Invalid(errors=(FieldError("parent", "A message follows an answer; this is none."),))
    if met.running is not None and not met.is_stopping:
        raise AnswerRunning
    return met.running


def _publish_stop(owner: uuid.UUID, pk: uuid.UUID) -> None:
    try:
        valkey.shared().publish(keys.dispatcher_channel(owner), str(pk))
    except (RedisError, OSError) as error:
        logger.warning("stop_left_to_heartbeat", error=type(error).__name__)


def _stop_queued(pk: uuid.UUID) -> bool:
    """End a row that nobody claimed; False when somebody just did."""
    parameters: dict[str, Any] = {
        "pk": pk,
        "attempt": 0,
        "owner": None,
        "state": Generation.State.STOPPED,
        "parts": None,
        "finish_reason": None,
        "error_code": None,
        "usage": None,
    }
    with connection.cursor() as cursor:
        cursor.execute(statements.text("finish"), parameters)
        return cursor.fetchone() is not None
