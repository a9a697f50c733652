"""What one more turn writes does not grow with the conversation it is added to."""

import itertools
import uuid

import pytest
from django.db import connection

from chat import turns
from chat.models import Conversation, Message
from tests.factories.accounts import make_user
from tests.factories.chat import make_conversation

# What may differ between two turns of the same size: a page split, a hint bit.
SLACK_BYTES = 2_000


def written() -> int:
    """Bytes of write-ahead log of this connection so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT wal_bytes FROM pg_stat_get_backend_wal(pg_backend_pid())")
        return int(cursor.fetchone()[0])


def of_length(length: int) -> Conversation:
    """A conversation of this many messages, the last one an answer."""
    conversation = make_conversation(make_user())
    rows = [
        Message(
            conversation=conversation,
            role="assistant" if n % 2 else "user",
            parts=[{"type": "text", "text": "x" * 200}],
        )
        for n in range(length)
    ]
    for before, row in itertools.pairwise(rows):
        row.parent = before
    Message.objects.bulk_create(rows)
    conversation.leaf = rows[-1]
    conversation.save(update_fields=["leaf"])
    return conversation


def appended(conversation: Conversation) -> int:
    """The bytes that one more turn costs there."""
    before = written()
    turns.begin(
        conversation.user_id,
        client_id=str(uuid.uuid4()),
        conversation=conversation.pk,
        parent=conversation.leaf_id,
        text="one more",
    )
    return written() - before


@pytest.mark.django_db(transaction=True)
def test_a_turn_writes_as_much_in_a_long_conversation_as_in_a_short_one() -> None:
    short, long = of_length(10), of_length(2_000)
    appended(of_length(2))  # whatever only the first turn writes
    least, most = sorted((appended(short), appended(long)))
    assert least > 0
    assert most - least < SLACK_BYTES
