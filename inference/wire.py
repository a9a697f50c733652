"""The engines' wire: bodies that are sent and events that come, as vLLM and llama.cpp speak OpenAI's forms.

Forms only: no network, and no judgement of what an event means for the answer.
"""

import json
from typing import Any

import msgspec

from inference.core.values import ChatMessage, Progress, ReplicaView, Request, Usage, Way
from inference.errors import Refused


class Delta(msgspec.Struct):
    """What a chat event adds."""

    content: str | None = None


class Choice(msgspec.Struct):
    """One choice of an event: `delta` in chat, `text` in completions."""

    delta: Delta | None = None
    text: str | None = None
    token_ids: list[int] | None = None
    finish_reason: str | None = None


class Timings(msgspec.Struct):
    """llama.cpp's counters, the only place where it says how many tokens an event took."""

    predicted_n: int | None = None


class Event(msgspec.Struct):
    """One event of a stream, in chat or completions, of either engine."""

    choices: list[Choice] = []
    usage: Usage | None = None
    timings: Timings | None = None
    error: Any = None

    @property
    def counted(self) -> int | None:
        """Tokens of the whole answer so far, where the engine says it."""
        if self.usage is not None:
            return self.usage.completion_tokens
        return None if self.timings is None else self.timings.predicted_n


_decoder = msgspec.json.Decoder(Event)


def decode_event(data: bytes) -> Event | None:
    """The event, or None for what is none. A character split over events leaves surrogates in the text."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        return _decode_split(data)


def _decode_split(data: bytes) -> Event | None:
    """The standard library takes halves of characters, which msgspec rightly refuses."""
    try:
        return msgspec.convert(json.loads(data.decode("utf-8", "surrogateescape")), Event)
    except (ValueError, RecursionError):
        return None


def encoded(body: dict[str, Any]) -> bytes:
    """The body as JSON; raises Refused for text that is no Unicode (a lone half of a character)."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise Refused("not_unicode") from None  # the error itself holds the whole prompt


def chat_body(replica: ReplicaView, request: Request, progress: Progress | None, max_tokens: int) -> bytes:
    """A streamed chat completion: fresh, or going on from the text of `progress`."""
    body = _sampling(replica, request, max_tokens)
    body["messages"] = request.messages
    if progress is not None:
        body["messages"] = [*request.messages, ChatMessage("assistant", progress.text)]
        body["continue_final_message"] = True
        body["add_generation_prompt"] = False
    if request.response_format is not None:
        body["response_format"] = request.response_format
    return encoded(body)


def completion_body(replica: ReplicaView, request: Request, prompt: list[int], max_tokens: int) -> bytes:
    """A streamed completion of token ids."""
    return encoded({**_sampling(replica, request, max_tokens), "prompt": prompt})


def _sampling(replica: ReplicaView, request: Request, max_tokens: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    if request.stop:
        body["stop"] = request.stop
    if request.seed is not None:
        body["seed"] = request.seed
    if "ids" not in replica.continues:
        body["timings_per_token"] = True
    elif wants_ids(request):
        body["return_token_ids"] = True
    return body


def wants_ids(request: Request) -> bool:
    """Whether ids and text of an event belong together: with stop strings engines hold text back, not ids."""
    return not request.stop and request.response_format is None


def going_on(progress: Progress, way: Way | None) -> Way | None:
    """The way to go on, checked: nothing to go on from is a fresh start."""
    if way == "ids" and progress.ids:
        return "ids"
    if way == "text" and progress.text:
        return "text"
    if progress.text:
        raise ValueError("an answer that has text needs a way to go on, and what that way goes on from")
    return None
