"""Pages by cursor, stable while the list changes. Addresses are relative: they hold behind any proxy."""

from typing import Any

from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from chat.errors import FieldError, Invalid


class NewestFirst(CursorPagination):
    """Conversations, last changed first."""

    page_size = 50
    ordering = ("-updated_at", "-id")

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """The page that the cursor names. Raises Invalid."""
        page: list[Any] | None = super().paginate_queryset(queryset, request, view)
        self.base_url = request.get_full_path()
        return page

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Our own cursor back. Raises Invalid for anything else."""
        try:
            cursor = super().decode_cursor(request)
            if cursor and cursor.position is not None and parse_datetime(str(cursor.position)) is None:
                raise ValueError(cursor.position)
        except (NotFound, ValueError):
            raise Invalid(errors=(FieldError("cursor", "It is none that this list gave."),)) from None
        return cursor

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """For the OpenAPI document: all three are always there."""
        link = {"type": ["string", "null"], "example": "/api/v1/conversations?cursor=cD0y"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }
