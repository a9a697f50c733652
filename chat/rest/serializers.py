"""The shapes of docs/api.md, in and out. What comes in carries its limits; nothing is looked up here."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from chat.models import Conversation, Generation
from chat.rest.body import Body, CleanText, Key
from chat.text import CLIENT_ID
from chat.tree import Shown


def component(name: str) -> Any:
    """The name of a shape in the OpenAPI document, where clients make types of it."""
    return extend_schema_serializer(component_name=name)


class MessageText(CleanText):
    """What a person writes, at most MAX_MESSAGE_CHARS characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, max_length=settings.MAX_MESSAGE_CHARS, **options)


class ClientId(serializers.RegexField):
    """The client's own key for a turn."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            rf"^{CLIENT_ID}$",
            min_length=8,
            max_length=64,
            help_text="Your own key for this turn: sent again with the same body, it answers the same turn.",
            **options,
        )


class ModelName(serializers.CharField):
    """A model of `GET models`; null or left out takes the default."""

    def __init__(self) -> None:
        super().__init__(max_length=100, required=False, allow_null=True)


class Nothing(Body):
    """A call that takes no fields."""


class Send(Body):
    """POST turns."""

    client_id = ClientId()
    conversation = Key(allow_null=True, default=None, help_text="null starts a new one")
    parent = Key(  # type: ignore[assignment]  # a declared field, not the serializer's own parent
        allow_null=True, default=None, help_text="the message this follows; null: the first"
    )
    text = MessageText()
    model = ModelName()


class Edit(Body):
    """POST messages/{pk}/edit."""

    client_id = ClientId()
    text = MessageText()
    model = ModelName()


class Regenerate(Body):
    """POST messages/{pk}/regenerate."""

    client_id = ClientId()
    model = ModelName()


class Continue(Body):
    """POST messages/{pk}/continue."""

    client_id = ClientId()


class ConversationChange(Body):
    """PATCH conversations/{pk}."""

    title = CleanText(max_length=200, required=False)
    leaf = Key(required=False, help_text="any message of the branch to show")

    def validate_title(self, title: str) -> str:
        """Without white space around it."""
        return title.strip()


class PageQuery(Body):
    """GET conversations/{pk}/messages."""

    leaf = Key(required=False, help_text="the last message of the page; default: the conversation's leaf")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


@component("Conversation")
class ConversationOut(serializers.ModelSerializer[Conversation]):
    """A conversation."""

    leaf = serializers.UUIDField(source="leaf_id", allow_null=True, read_only=True)

    class Meta:
        model = Conversation
        fields = ("pk", "title", "model", "leaf", "created_at", "updated_at")
        read_only_fields = fields
        extra_kwargs = {"pk": {"format": "hex_verbose"}}  # noqa: RUF012 DRF's own form


@component("Usage")
class UsageOut(serializers.Serializer[dict[str, int]]):
    """Tokens of one answer."""

    prompt_tokens = serializers.IntegerField(read_only=True)
    completion_tokens = serializers.IntegerField(read_only=True)


@component("Generation")
class GenerationOut(serializers.ModelSerializer[Generation]):
    """An answer being made, or made."""

    message = serializers.UUIDField(source="message_id", allow_null=True, read_only=True)
    state = serializers.ChoiceField(Generation.State.choices, read_only=True)
    usage = UsageOut(allow_null=True, read_only=True)

    class Meta:
        model = Generation
        fields: tuple[str, ...] = (
            "pk", "message", "state", "model", "finish_reason", "error_code", "usage", "created_at",
            "finished_at",
        )  # fmt: skip
        read_only_fields = fields


@component("Part")
class PartOut(serializers.Serializer[dict[str, str]]):
    """A part of a message."""

    type = serializers.ChoiceField(["text"], read_only=True)
    text = serializers.CharField(read_only=True)


@component("Message")
class MessageOut(serializers.Serializer[Shown]):
    """A message with the versions at its place and its last generation."""

    pk = serializers.UUIDField(source="message.pk", read_only=True)
    conversation = serializers.UUIDField(source="message.conversation_id", read_only=True)
    parent = serializers.UUIDField(  # type: ignore[assignment]
        source="message.parent_id", allow_null=True, read_only=True
    )
    role = serializers.ChoiceField(["user", "assistant"], source="message.role", read_only=True)
    parts = PartOut(source="message.parts", many=True, read_only=True)
    created_at = serializers.DateTimeField(source="message.created_at", read_only=True)
    siblings = serializers.ListField(child=serializers.UUIDField(), read_only=True)
    generation = GenerationOut(allow_null=True, read_only=True)


class MessagePage(serializers.Serializer[dict[str, Any]]):
    """One page of a branch."""

    results = MessageOut(many=True, read_only=True)
    next = serializers.CharField(allow_null=True, read_only=True, help_text="the page before this one")


@component("Turn")
class TurnOut(serializers.Serializer[Any]):
    """What was begun."""

    conversation = serializers.UUIDField(read_only=True)
    message = serializers.UUIDField(allow_null=True, read_only=True)
    answer = serializers.UUIDField(read_only=True)
    generation = serializers.UUIDField(read_only=True)
    model = serializers.CharField(read_only=True)
    state = serializers.ChoiceField(Generation.State.choices, read_only=True)
    events = serializers.CharField(read_only=True, help_text="where the answer's events are")


class Stopping(serializers.Serializer[dict[str, Any]]):
    """The state an answer has after a stop."""

    pk = serializers.UUIDField(read_only=True)
    state = serializers.ChoiceField(Generation.State.choices, read_only=True)


@component("GenerationWithPlace")
class GenerationWithPlace(GenerationOut):
    """An answer and, while it is queued, its place and how long it will wait."""

    place = serializers.IntegerField(allow_null=True, read_only=True, help_text="0 is next")
    expected_wait_s = serializers.FloatField(
        allow_null=True, read_only=True, help_text="as things go now; null if unknown"
    )

    class Meta(GenerationOut.Meta):
        fields = (*GenerationOut.Meta.fields, "place", "expected_wait_s")
        read_only_fields = fields


@component("Model")
class ModelOut(serializers.Serializer[Any]):
    """A model to choose."""

    id = serializers.CharField(read_only=True)
    name = serializers.CharField(read_only=True)
    context_length = serializers.IntegerField(read_only=True)
    max_tokens = serializers.IntegerField(read_only=True)
    is_default = serializers.BooleanField(source="default", read_only=True)


class ModelList(serializers.Serializer[Any]):
    """The models there are."""

    results = ModelOut(many=True, read_only=True)
