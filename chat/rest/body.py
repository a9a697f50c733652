"""What comes in: JSON within the limit, known fields only, every broken rule named with its limit.

Serializers say which fields there are; nothing here knows what they mean.
"""

import json
import uuid
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework import exceptions, parsers, serializers
from rest_framework.request import Request

from chat.errors import FieldError, Invalid, TooLarge
from chat.text import clean

NAMES_SHOWN = 10


class JsonBody(parsers.JSONParser):
    """JSON of at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes: DRF's own parser reads without a limit."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value. Raises TooLarge, ParseError."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise TooLarge(limit)
        try:
            return json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"The body is not valid JSON: {error}.") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


class Body(serializers.Serializer[Any]):
    """A body whose unknown fields are refused by name."""

    def to_internal_value(self, data: Any) -> Any:
        """The known fields. Raises ValidationError."""
        if isinstance(data, Mapping):
            unknown = [clean(str(name))[:64] for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError(
                    {name: ["There is no such field."] for name in unknown[:NAMES_SHOWN]}
                )
        return super().to_internal_value(data)


class Key(serializers.UUIDField):
    """The pk of a row, as text; DRF would take numbers too."""

    def to_internal_value(self, data: Any) -> uuid.UUID:
        """The key. Raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class CleanText(serializers.CharField):
    """Text made storable first and judged after; white space around it is kept, alone it is nothing."""

    def to_internal_value(self, data: Any) -> str:
        """The clean text. Raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid")
        text = clean(data)
        if not text.strip():
            self.fail("blank")
        return text


def read(body: type[Body], request: Request, *, partial: bool = False) -> dict[str, Any]:
    """The fields of this body. Raises Invalid with every broken rule."""
    form = body(data=_with_idempotency_key(body, request), partial=partial)
    return _checked(form)


def read_query(query: type[Body], request: Request) -> dict[str, Any]:
    """The parameters of the address, by the same rules."""
    return _checked(query(data=request.query_params.dict()))


def _checked(form: Body) -> dict[str, Any]:
    if not form.is_valid():
        raise Invalid(errors=tuple(_broken(form)))
    return dict(form.validated_data)


def _with_idempotency_key(body: type[Body], request: Request) -> Any:
    key = request.headers.get("Idempotency-Key", "").strip().strip('"')
    data = request.data
    if not key or "client_id" not in body().fields or not isinstance(data, Mapping):
        return data
    if data.get("client_id", key) != key:
        raise Invalid(errors=(FieldError("client_id", "It differs from the Idempotency-Key header."),))
    return {**data, "client_id": key}


def _broken(form: Body) -> list[FieldError]:
    return [
        FieldError("body" if name == "non_field_errors" else name, str(rule), _limit(form, name, rule.code))
        for name, rules in form.errors.items()
        for rule in rules
    ]


def _limit(form: Body, name: str, code: str | None) -> int | None:
    if code not in {"max_length", "min_length", "max_value", "min_value"}:
        return None
    limit: int | None = getattr(form.fields[name], code)
    return limit
