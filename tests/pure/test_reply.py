"""Events into chunks: what is counted, what ends an answer well, what does not."""

import json
from typing import Any

import pytest

from inference.core.values import Chunk, Usage
from inference.errors import ContextTooLong, InferenceError, Refused, StreamCut
from inference.reply import MOST_BAD_EVENTS, AnswerReader


def event(text: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    ids = {"token_ids": more.pop("ids")} if "ids" in more else {}
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish, **ids}
    return json.dumps({"choices": [choice], **more}).encode()


def usage(completion: int) -> dict[str, int]:
    return {"prompt_tokens": 9, "completion_tokens": completion, "total_tokens": 9 + completion}


def read(*events: bytes) -> list[Chunk]:
    reader = AnswerReader()
    chunks = [chunk for data in events if (chunk := reader.take(data)) is not None]
    return [*chunks, reader.end()]


def test_one_token_an_event_where_the_engine_counts_nothing() -> None:
    chunks = read(event("a"), event(""), event("b"), event(finish="stop"))
    assert [chunk.tokens for chunk in chunks] == [1, 1, 0]


def test_ids_are_counted() -> None:
    chunks = read(event("ab", ids=[1, 2]), event("c", "length", ids=[3]))
    assert chunks == [Chunk("ab", [1, 2], 2), Chunk("c", [3], 1, "length")]


def test_the_engines_own_count_wins_and_tells_of_a_lost_event() -> None:
    chunks = read(
        event("", usage=usage(0)),
        event("a", usage=usage(1), ids=[1]),
        b'{"choices": [{"delta": ',
        event("c", usage=usage(3), ids=[3]),
        event(finish="stop", usage=usage(3)),
    )
    assert [(chunk.tokens, chunk.ids) for chunk in chunks] == [(1, [1]), (2, None), (0, [])]
    assert chunks[0].usage == Usage(9, 1)


def test_llama_cpps_timings_count_a_character_of_three_tokens() -> None:
    chunks = read(
        event("🦀", timings={"predicted_n": 3}), event("b", timings={"predicted_n": 4}), event(finish="stop")
    )
    assert [chunk.tokens for chunk in chunks] == [3, 1, 0]


def test_the_last_chunk_takes_the_tokens_that_showed_no_text() -> None:
    last = read(event("a"), event(finish="stop"), json.dumps({"choices": [], "usage": usage(2)}).encode())[-1]
    assert (last.tokens, last.usage) == (1, Usage(9, 2))


def test_usage_of_its_own_event_is_waited_for() -> None:
    reader = AnswerReader()
    reader.take(event("a", usage=usage(1)))
    reader.take(event(finish="stop"))
    assert not reader.complete
    reader.take(json.dumps({"choices": [], "usage": usage(1)}).encode())
    assert reader.complete


def test_done_completes_without_usage() -> None:
    reader = AnswerReader()
    reader.take(event("a", "stop"))
    reader.take(b"[DONE]")
    assert reader.complete
    assert reader.end() == Chunk("a", None, 1, "stop")


@pytest.mark.parametrize(
    ("finish", "reason"), [("abort", "abort"), ("error", "error"), ("whatever", "error")]
)
def test_other_finish_reasons_are_cuts(finish: str, reason: str) -> None:
    with pytest.raises(StreamCut) as cut:
        read(event("a"), event(finish=finish), b"[DONE]")
    assert cut.value.reason == reason


def test_done_without_a_finish_reason_is_a_cut() -> None:
    with pytest.raises(StreamCut) as cut:
        read(event("a"), b"[DONE]")
    assert cut.value.reason == "eof"


def test_a_few_bad_events_are_skipped_and_more_are_garbage() -> None:
    assert read(*[b"<html>"] * MOST_BAD_EVENTS, event("a", "stop"))[-1].text == "a"
    with pytest.raises(StreamCut) as cut:
        read(*[b"<html>"] * (MOST_BAD_EVENTS + 1), event("a", "stop"))
    assert cut.value.reason == "garbage"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "x", "code": 500}, StreamCut),
        ({"message": "x", "code": 429}, StreamCut),
        ("just words", StreamCut),
        ({"message": "x", "code": 400, "type": "invalid_request_error"}, Refused),
        ({"message": "x", "code": 400, "type": "exceed_context_size_error", "n_ctx": 7}, ContextTooLong),
    ],
)
def test_an_error_event_is_a_refusal_only_before_the_first_token(
    error: Any, kind: type[InferenceError]
) -> None:
    data = json.dumps({"error": error}).encode()
    with pytest.raises(InferenceError) as first:
        read(data)
    assert type(first.value) is kind
    with pytest.raises(StreamCut):
        read(event("a"), data)
