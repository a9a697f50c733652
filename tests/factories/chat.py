"""Conversations, messages and answers for tests, as turns and dispatchers leave them behind."""

from datetime import timedelta
from itertools import count

from django.contrib.postgres.functions import TransactionNow
from django.utils import timezone

from accounts.models import User
from chat.models import Conversation, Generation, Message
from tests.factories.accounts import make_user

_number = count(1)


def make_conversation(user: User | None = None, **fields: object) -> Conversation:
    """An empty conversation."""
    fields.setdefault("model", "smollm2")
    return Conversation.objects.create(user=user or make_user(), **fields)


def make_message(
    conversation: Conversation,
    parent: Message | None = None,
    *,
    text: str = "hello",
    role: str = "",
    **fields: object,
) -> Message:
    """A message under `parent`; the other role than its parent's if none is said."""
    if not role:
        role = Message.Role.ASSISTANT if parent and parent.role == Message.Role.USER else Message.Role.USER
    # The database's clock, which turns go by: it stands still in a transaction, so that keys tell the order.
    fields.setdefault("created_at", TransactionNow())
    parts = [{"type": "text", "text": text}]
    row = Message.objects.create(conversation=conversation, parent=parent, role=role, parts=parts, **fields)
    row.refresh_from_db(fields=["created_at"])
    return row


def make_branch(conversation: Conversation, length: int, parent: Message | None = None) -> list[Message]:
    """`length` messages in a row, the last of which becomes the conversation's leaf."""
    path = []
    for n in range(length):
        parent = make_message(conversation, parent, text=f"message {n}")
        path.append(parent)
    conversation.leaf = path[-1]
    conversation.save(update_fields=["leaf"])
    return path


def make_generation(message: Message, state: str = Generation.State.COMPLETE, **fields: object) -> Generation:
    """An answer in this state; ended ones are closed too."""
    now = timezone.now()
    ended = None if state in Generation.OPEN else now
    values: dict[str, object] = {
        "user": message.conversation.user,
        "client_id": f"client-{next(_number):08}",
        "body_hash": b"\0" * 32,
        "model": "smollm2",
        "model_version": "smollm2@1",
        "start_by": now + timedelta(seconds=30),
        "deadline_at": now + timedelta(seconds=600),
        "finished_at": ended,
        "closed_at": ended,
        "finish_reason": "stop" if state == Generation.State.COMPLETE else None,
        **fields,
    }
    return Generation.objects.create(message=message, state=state, **values)
