"""What chat.text lets through, Postgres stores and gives back unchanged."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chat.models import Conversation, Message
from chat.text import clean
from tests.factories.chat import make_conversation, make_message


class StoredText(TestCase):
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.text(st.characters(exclude_categories=()), max_size=60))
    def test_a_clean_text_comes_back_unchanged(self, text: str) -> None:
        conversation = make_conversation(title=clean(text))
        message = make_message(conversation, text=clean(text))
        assert Conversation.objects.get(pk=conversation.pk).title == clean(text)
        assert Message.objects.get(pk=message.pk).text == clean(text)
