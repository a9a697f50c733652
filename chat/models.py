"""Conversations, their trees of messages, and the durable rows of answers (protocol: the life of an answer).

Rows and constraints only. Every change of a generation's state is one guarded UPDATE in lifecycle.py or turns.py.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import new_pk


class Conversation(models.Model):
    """A tree of messages; `leaf` is the newest message of the branch shown."""

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=100, blank=True)
    leaf = models.ForeignKey("Message", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, db_default=Now())
    updated_at = models.DateTimeField(default=timezone.now, db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["user", "-updated_at", "-id"], name="conversation_newest"),)

    def __str__(self) -> str:
        return str(self.pk)


class Message(models.Model):
    """One message: a list of typed parts under a parent, which its siblings share."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="children")
    role = models.CharField(max_length=16, choices=Role.choices)
    parts = models.JSONField(default=list, blank=True)
    # Counted once by the tokenizer of this model, for the window; null until then.
    tokens = models.PositiveIntegerField(null=True, blank=True)
    tokens_model = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now, db_default=Now())

    class Meta:
        indexes = (
            # The versions of a conversation's first message: no parent leads to them.
            models.Index(fields=["conversation"], condition=Q(parent=None), name="message_first"),
        )

    def __str__(self) -> str:
        return f"{self.role} {self.pk}"

    @property
    def text(self) -> str:
        """The text of all text parts."""
        return "".join(part.get("text", "") for part in self.parts if part.get("type") == "text")


class Generation(models.Model):
    """One answer being made, or made: it belongs to no process. Terminal states are final."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETE = "complete"
        STOPPED = "stopped"
        FAILED = "failed"
        BLOCKED = "blocked"

    class Priority(models.TextChoices):
        INTERACTIVE = "interactive"
        API = "api"
        BATCH = "batch"

    OPEN = (State.QUEUED, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    message = models.ForeignKey(Message, models.CASCADE, null=True, related_name="generations")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="generations")
    client_id = models.CharField(max_length=64)
    body_hash = models.BinaryField(max_length=32)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    priority = models.CharField(max_length=16, choices=Priority.choices, default=Priority.INTERACTIVE)
    model = models.CharField(max_length=100)
    model_version = models.CharField(max_length=100)
    attempt = models.IntegerField(default=0)
    owner = models.UUIDField(null=True, blank=True)
    failures = models.SmallIntegerField(default=0)
    waits_for = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    # The exact engine request, frozen by the first attempt, cleared at the end.
    request = models.JSONField(null=True, blank=True)
    policy_version = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now, db_default=Now())
    start_by = models.DateTimeField()
    deadline_at = models.DateTimeField()
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    first_token_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    finish_reason = models.CharField(max_length=32, null=True, blank=True)  # noqa: DJ001 null until there is one
    error_code = models.CharField(max_length=32, null=True, blank=True)  # noqa: DJ001 null where nothing failed
    usage = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["user", "client_id"], name="generation_client_id_once"),
            models.UniqueConstraint(
                fields=["message"],
                condition=Q(state__in=["queued", "running"]),
                name="generation_one_open_a_message",
            ),
        )
        indexes = (
            # What the sweep looks for: open rows, and ended ones that nobody closed.
            models.Index(fields=["state"], condition=Q(closed_at__isnull=True), name="generation_not_closed"),
            models.Index(fields=["message", "-id"], name="generation_of_message"),
        )

    def __str__(self) -> str:
        return f"{self.state} {self.pk}"


class Dispatcher(models.Model):
    """A running dispatcher; its heartbeat is the one lease on all answers it owns."""

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    started_at = models.DateTimeField(default=timezone.now, db_default=Now())
    heartbeat_at = models.DateTimeField(default=timezone.now, db_default=Now())

    def __str__(self) -> str:
        return str(self.pk)


class GenerationChunk(models.Model):
    """Text of a running answer since the last checkpoint; append only, deleted at the end.

    `body` is {"at": code points that stand before this piece, "text": str, "ids_at": ids that stand before it,
    "ids": [int] or null, "tokens": int so far, "end": {...} when the engine had finished}.
    """

    generation = models.ForeignKey(Generation, models.CASCADE, related_name="chunks")
    attempt = models.IntegerField()
    n_from = models.BigIntegerField()
    n_to = models.BigIntegerField()
    body = models.JSONField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["generation", "attempt", "n_from"], name="chunk_once"),
        )

    def __str__(self) -> str:
        return f"{self.generation_id} {self.attempt}-{self.n_from}..{self.n_to}"
