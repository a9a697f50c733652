"""The tree of a conversation: the path to a leaf, versions side by side, the branch shown.

One statement each, whose cost follows what is shown, never how long the conversation is. Whose rows they are
was asked in access.py before.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import connection
from django.db.models import Q

from chat import access
from chat.models import Conversation, Generation, Message

SQL = Path(__file__).parent / "sql"
PATH = (SQL / "path.sql").read_text()
NEWEST_LEAF = (SQL / "newest_leaf.sql").read_text()


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as a reader needs it: all versions at its place, and its last generation."""

    message: Message
    siblings: list[uuid.UUID]
    generation: Generation | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some messages of a branch, and the one before them, if there is one."""

    messages: list[Shown]
    before: uuid.UUID | None


def page(conversation: Conversation, leaf: uuid.UUID | None, limit: int) -> Page:
    """The `limit` messages nearest the leaf (the conversation's own by default). Raises NotFound."""
    if leaf is not None:
        leaf = access.message_of(conversation, leaf).pk
    path = path_to(leaf or conversation.leaf_id, limit)
    return Page(shown(path), path[0].parent_id if path else None)


def path_to(leaf: uuid.UUID | None, limit: int) -> list[Message]:
    """The branch that ends in `leaf`, oldest first: at most `limit` messages, nearest the leaf."""
    return list(Message.objects.raw(PATH, {"leaf": leaf, "limit": limit}))


def siblings(messages: Iterable[Message]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """For each message the keys of all versions at its place, in order of age, itself included."""
    messages = list(messages)
    places = Q(parent_id__in=[m.parent_id for m in messages if m.parent_id])
    for first in {m.conversation_id for m in messages if m.parent_id is None}:
        places |= Q(conversation_id=first, parent_id=None)
    versions: dict[object, list[uuid.UUID]] = defaultdict(list)
    rows = Message.objects.filter(places).order_by("created_at", "id")
    for pk, parent, conversation in rows.values_list("pk", "parent_id", "conversation_id"):
        versions[parent or conversation].append(pk)
    return {m.pk: versions[m.parent_id or m.conversation_id] for m in messages}


def latest_generations(messages: Iterable[Message]) -> dict[uuid.UUID, Generation]:
    """The newest generation of each message that has one."""
    rows = Generation.objects.filter(message__in=list(messages)).order_by("message_id", "-id")
    found = rows.defer("request", "body_hash").distinct("message_id")
    return {row.message_id: row for row in found if row.message_id}


def shown(messages: Sequence[Message]) -> list[Shown]:
    """The messages with their versions and generations: two statements, however many they are."""
    versions, generations = siblings(messages), latest_generations(messages)
    return [Shown(m, versions[m.pk], generations.get(m.pk)) for m in messages]


def branch(conversation: Conversation, message: Message) -> Message:
    """The newest leaf under this message: what is shown when a person turns to this version of it."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_LEAF, {"top": message.pk})
        (leaf,) = cursor.fetchone()
    return Message.objects.get(pk=leaf, conversation=conversation)
