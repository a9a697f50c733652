"""What a person does with a conversation as a whole: rename it, switch the branch.

It starts with its first turn (turns.py) and is deleted in removal.py, which stops its answers first.
"""

import uuid

from django.db import transaction

from chat import access, notices, tree
from chat.models import Conversation


def change(
    user_pk: uuid.UUID, pk: uuid.UUID, *, title: str | None = None, leaf: uuid.UUID | None = None
) -> Conversation:
    """Rename, or turn to another branch, or both; its place in the list stays. Raises NotFound."""
    conversation = access.conversation(user_pk, pk)
    if leaf is not None:
        switch(conversation, leaf)
    if title is not None:
        rename(conversation, title)
    transaction.on_commit(lambda: notices.tell_conversation_changed(user_pk, pk))
    return conversation


def rename(conversation: Conversation, title: str) -> None:
    """Give it this title."""
    conversation.title = title
    conversation.save(update_fields=["title"])


def switch(conversation: Conversation, message: uuid.UUID) -> None:
    """Show the branch that goes through this message, down to its newest leaf. Raises NotFound."""
    conversation.leaf = tree.branch(conversation, access.message_of(conversation, message))
    conversation.save(update_fields=["leaf"])
