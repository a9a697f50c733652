"""Taking a conversation away for good: its answers are stopped, then nothing of it is left.

Above turns.py, which stops answers. What memory and moderation keep about it is forgotten from here too.
"""

import uuid

from django.db import transaction

from chat import access, notices, turns
from chat.models import Conversation, Generation


def delete_conversation(user_pk: uuid.UUID, pk: uuid.UUID) -> None:
    """Stop the answers in it and remove it with all messages; a late end finds no row. Raises NotFound."""
    conversation = access.conversation(user_pk, pk)
    unfinished = Generation.objects.filter(message__conversation=conversation, state__in=Generation.OPEN)
    for generation in unfinished.values_list("pk", flat=True):
        turns.stop(user_pk, generation)
    with transaction.atomic():
        # In the order in which the end of an answer locks them: no checkpoint and no turn slips in between.
        list(unfinished.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
        list(Conversation.objects.select_for_update().filter(pk=pk).values_list("pk"))
        conversation.delete()
        transaction.on_commit(lambda: notices.tell_conversation_changed(user_pk, pk))
