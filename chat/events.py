"""The websocket's messages, one msgspec Struct each (docs/api.md). The log's events are inference/core/events.py.

Decoding is strict and answers in words; encoding happens once a message, never per token.
"""

import json
from typing import Any
from uuid import UUID

import msgspec

from chat.errors import BadFrame, FieldError, Invalid
from chat.text import clean


class _In(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """A message from a client."""


class Send(_In, frozen=True, tag="send"):
    """Begin a turn."""

    client_id: str
    text: str
    conversation: UUID | None = None
    parent: UUID | None = None
    model: str | None = None
    ref: str | None = None


class Edit(_In, frozen=True, tag="edit"):
    """A sibling of a user message."""

    message: UUID
    client_id: str
    text: str
    model: str | None = None
    ref: str | None = None


class Regenerate(_In, frozen=True, tag="regenerate"):
    """A sibling of an answer."""

    message: UUID
    client_id: str
    model: str | None = None
    ref: str | None = None


class Continue(_In, frozen=True, tag="continue"):
    """Go on with an answer that was stopped or cut."""

    message: UUID
    client_id: str
    ref: str | None = None


class Subscribe(_In, frozen=True, tag="subscribe"):
    """Events of an answer after an id."""

    generation: UUID
    after: str | None = None
    ref: str | None = None


class Unsubscribe(_In, frozen=True, tag="unsubscribe"):
    """No more events of it."""

    generation: UUID


class Stop(_In, frozen=True, tag="stop"):
    """End an answer early."""

    generation: UUID
    ref: str | None = None


class Ack(_In, frozen=True, tag="ack"):
    """All events up to this `seq` were taken."""

    seq: int


class Ping(_In, frozen=True, tag="ping"):
    """Still here."""


ClientMessage = Send | Edit | Regenerate | Continue | Subscribe | Unsubscribe | Stop | Ack | Ping

_decoder: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)
_encoder = msgspec.json.Encoder()


def decode(raw: str) -> ClientMessage:
    """A client's message. Raises BadFrame for what is no JSON object of a known type, Invalid for a wrong field."""
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _in_words(error) from error
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _decode_leniently(raw)


def _decode_leniently(raw: str) -> ClientMessage:
    """Python's decoder takes lone surrogates, which become U+FFFD, where the strict one refuses the frame."""
    try:
        message: ClientMessage = msgspec.convert(_cleaned(json.loads(raw)), ClientMessage)
        return message
    except msgspec.ValidationError as error:
        raise _in_words(error) from error
    except (ValueError, RecursionError) as error:
        raise BadFrame from error


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {clean(name): _cleaned(item) for name, item in value.items()}
    return value


def _in_words(error: msgspec.ValidationError) -> BadFrame | Invalid:
    reason, _, where = str(error).partition(" - at `$")
    field = where.strip(".`")
    if field in {"", "type"} and ("`type`" in reason or "Expected `object`" in reason or field == "type"):
        return BadFrame()
    if not field and "`" in reason:
        field = reason.split("`")[-2] if "field" in reason else ""
    return Invalid(errors=(FieldError(field or "body", reason),))


def encode(message: dict[str, Any]) -> str:
    """A server's message, as text."""
    return _encoder.encode(message).decode()


def place_frame(generation: str, place: int, wait_s: float | None) -> str:
    """Where an answer waits, and how long still, if that is known."""
    return encode({"type": "place", "generation": generation, "place": place, "wait_s": wait_s})


def event_frame(generation: str, entry: str, n_from: int | None, seq: int, v: bytes) -> str:
    """An `event` around the log's own bytes: no JSON is decoded or encoded for it."""
    covers = "" if n_from is None else f',"from":{n_from}'
    head = f'{{"type":"event","generation":"{generation}","id":"{entry}"{covers},"seq":{seq},"event":'
    return f"{head}{v.decode()}}}"
