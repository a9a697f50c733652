"""Tells what an engine's refusal means: busy, final, too long, or broken.

Messages of engines may quote the prompt: only numbers and short words of them leave this module.
"""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from inference.errors import ContextTooLong, InferenceError, Refused, StreamCut, Unavailable

_BUSY = frozenset({408, 425, 429, 502, 503, 504})
_LIMIT = re.compile(r"(?:context length is(?: only)?|maximum model length of|context size \()\s*(\d+)")
_ASKED = re.compile(r"(\d+) (?:in the messages|in the prompt|input tokens)|prompt \(length (\d+)\)")
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class _Told(msgspec.Struct):
    message: str = ""
    type: str | None = None
    code: int | str | None = None
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None


class _Answer(msgspec.Struct):
    error: _Told | str | None = None
    message: str = ""
    type: str | None = None


def from_status(status: int, headers: Mapping[str, str], body: bytes) -> InferenceError:
    """The error that an answer other than 200 stands for."""
    if status in _BUSY:
        return Unavailable(f"status_{status}", _retry_after_s(headers))
    if status >= 500:
        return StreamCut(f"status_{status}")
    return _refusal(status, _told(body))


def from_event(error: Any, *, started: bool) -> InferenceError:
    """The error that an event inside a 200 stands for; only before the first token can it be a refusal."""
    try:
        told = msgspec.convert(error, _Told)
    except msgspec.ValidationError:
        return StreamCut("error")
    if started or not isinstance(told.code, int) or not 400 <= told.code < 500 or told.code in _BUSY:
        return StreamCut("error")
    return _refusal(told.code, told)


def _told(body: bytes) -> _Told:
    """vLLM has had both {error: {...}} and the bare object."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError:
        return _Told()
    if isinstance(answer.error, _Told):
        return answer.error
    return _Told(message=answer.error or answer.message, type=answer.type)


def _refusal(status: int, told: _Told) -> Refused:
    limit, asked = _LIMIT.search(told.message), _ASKED.search(told.message)
    if told.type == "exceed_context_size_error" or told.code == "context_length_exceeded" or limit:
        n_prompt = told.n_prompt_tokens or (int(asked[1] or asked[2]) if asked else None)
        return ContextTooLong(n_prompt, told.n_ctx or (int(limit[1]) if limit else None))
    for word in (told.code, told.type):
        if isinstance(word, str) and _WORD.fullmatch(word):
            return Refused(word, status)
    return Refused(f"status_{status}", status)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    raw = headers.get("Retry-After", "").strip()
    if raw.isascii() and raw.isdigit():
        return float(raw[:6])
    try:
        return max(0.0, parsedate_to_datetime(raw).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
