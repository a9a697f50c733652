"""The one way to a row. What is somebody else's and what is not there are the same NotFound.

Every surface comes through here; no rule about what may be done with a row comes in.
"""

import uuid

from django.db.models import QuerySet

from chat.errors import NotFound
from chat.models import Conversation, Generation, Message


def conversations(user_pk: uuid.UUID) -> QuerySet[Conversation]:
    """All conversations of this person, for a page of them."""
    return Conversation.objects.filter(user_id=user_pk)


def conversation(user_pk: uuid.UUID, pk: uuid.UUID) -> Conversation:
    """One conversation of this person. Raises NotFound."""
    try:
        return Conversation.objects.get(pk=pk, user_id=user_pk)
    except Conversation.DoesNotExist:
        raise NotFound from None


def message(user_pk: uuid.UUID, pk: uuid.UUID) -> Message:
    """One message in a conversation of this person, with its conversation. Raises NotFound."""
    try:
        return Message.objects.select_related("conversation").get(pk=pk, conversation__user_id=user_pk)
    except Message.DoesNotExist:
        raise NotFound from None


def message_of(conversation: Conversation, pk: uuid.UUID) -> Message:
    """One message of this conversation. Raises NotFound."""
    try:
        return Message.objects.get(pk=pk, conversation=conversation)
    except Message.DoesNotExist:
        raise NotFound from None


def generation(user_pk: uuid.UUID, pk: uuid.UUID) -> Generation:
    """One generation that this person began. Raises NotFound."""
    try:
        return Generation.objects.get(pk=pk, user_id=user_pk)
    except Generation.DoesNotExist:
        raise NotFound from None
