"""Admin pages over tables that grow without end: no counts, exact searches, and nothing to change.

What each table shows is in its app's admin.py.
"""

import uuid
from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator


class LongList(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """A list that costs the same at any length: newest first by key, and never counted."""

    paginator = InfinitePaginator
    show_full_result_count = False
    list_per_page = 50
    ordering = ("-pk",)


class ReadOnlyList(LongList):
    """Rows to look at. Search takes a key, or the whole email of their owner."""

    owner_email = "user__email"
    search_fields: tuple[str, ...] = ("pk",)
    search_help_text = "A key, or the whole email of a user"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By an index only: a search inside texts would read the whole table."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(pk=uuid.UUID(term)), False
        except ValueError:
            email = term.lower().replace("\0", "")
            found = queryset.filter(**{self.owner_email: email}) if self.owner_email else queryset.none()
            return found, False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False
