"""What a person does with a conversation as a whole: start, rename, switch the branch.

Turns begin in turns.py, which stands above and calls this. Deleting stops answers first: removal.py.
"""

import uuid

from chat import access, tree
from chat.models import Conversation


def start(user_pk: uuid.UUID, *, model: str, title: str = "") -> Conversation:
    """A new, empty conversation, in the caller's transaction."""
    return Conversation.objects.create(user_id=user_pk, model=model, title=title)


def change(
    user_pk: uuid.UUID, pk: uuid.UUID, *, title: str | None = None, leaf: uuid.UUID | None = None
) -> Conversation:
    """Rename, or turn to another branch, or both; its place in the list stays. Raises NotFound."""
    conversation = access.conversation(user_pk, pk)
    if leaf is not None:
        switch(conversation, leaf)
    if title is not None:
        rename(conversation, title)
    return conversation


def rename(conversation: Conversation, title: str) -> None:
    """Give it this title."""
    conversation.title = title
    conversation.save(update_fields=["title"])


def switch(conversation: Conversation, message: uuid.UUID) -> None:
    """Show the branch that goes through this message, down to its newest leaf. Raises NotFound."""
    conversation.leaf = tree.branch(conversation, access.message_of(conversation, message))
    conversation.save(update_fields=["leaf"])
