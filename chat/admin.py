"""Conversations, answers and dispatchers in the admin, to look at. Message texts are never in a list."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accounts.admin_lists import ReadOnlyList
from chat import tree
from chat.models import Conversation, Dispatcher, Generation

MESSAGES_SHOWN = 200


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyList):
    """Whose it is and when; the branch shown, with its texts, on the row's own page."""

    list_display = ("pk", "user", "model", "created_at", "updated_at")
    list_select_related = ("user",)
    fields = ("pk", "user", "title", "model", "created_at", "updated_at", "branch")
    readonly_fields = fields

    @admin.display(description=f"Branch shown (its last {MESSAGES_SHOWN} messages)")
    def branch(self, conversation: Conversation) -> SafeString:
        """Role and text of each message, escaped."""
        path = tree.path_to(conversation.leaf_id, MESSAGES_SHOWN)
        return format_html_join(
            "",
            '<p class="whitespace-pre-wrap mb-4"><strong>{}</strong>\n{}</p>',
            ((message.role, message.text) for message in path),
        )


@admin.register(Generation)
class GenerationAdmin(ReadOnlyList):
    """How answers went: state, who ran it, and where its time went."""

    list_display = ("pk", "state", "error_code", "model", "user", "attempt", "queued", "first_token", "total")
    list_filter = ("state", "priority")
    list_select_related = ("user",)
    fields = (  # one a row: several beside each other would overlap, keys are long
        *("pk", "user", "message", "state", "finish_reason", "error_code"),
        *("model", "model_version", "priority", "attempt", "failures", "owner", "waits_for"),
        *("queued", "first_token", "total", "usage", "created_at", "start_by", "deadline_at"),
        *("claimed_at", "first_token_at", "stop_requested_at", "finished_at", "closed_at"),
    )
    readonly_fields = fields
    show_facets = admin.ShowFacets.NEVER

    @admin.display(description="Queued")
    def queued(self, generation: Generation) -> str:
        """From the request to a dispatcher."""
        return seconds(generation.created_at, generation.claimed_at)

    @admin.display(description="First token")
    def first_token(self, generation: Generation) -> str:
        """From the request to the first text."""
        return seconds(generation.created_at, generation.first_token_at)

    @admin.display(description="Total")
    def total(self, generation: Generation) -> str:
        """From the request to the end."""
        return seconds(generation.created_at, generation.finished_at)


@admin.register(Dispatcher)
class DispatcherAdmin(ReadOnlyList):
    """Dispatchers and whether their lease holds."""

    list_display = ("pk", "alive", "started_at", "heartbeat_at")
    owner_email = ""
    search_fields = ()

    @admin.display(boolean=True)
    def alive(self, dispatcher: Dispatcher) -> bool:
        """Whether it was heard of within its lease."""
        return timezone.now() - dispatcher.heartbeat_at < timedelta(seconds=settings.LEASE_S)


def seconds(start: datetime, end: datetime | None) -> str:
    """The time between, in words of one unit; a dash where the end is not there."""
    return "-" if end is None else f"{(end - start).total_seconds():.2f} s"
