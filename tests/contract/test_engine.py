"""What every engine keeps to: the same tests on the fake one in both dialects and on SmolLM2 on llama.cpp."""

from contextlib import aclosing

import msgspec
import pytest

from inference.core.values import ChatMessage, Progress, Usage
from inference.engine import OpenAIEngine
from inference.errors import ContextTooLong, Refused
from tests.contract.conftest import Case, ids_of, progress_of, text_of, tokens_of, whole
from tests.engines.fixtures import eventually

CUTS = (1, 7, 18, 29)


async def test_an_answer_comes_in_pieces_and_ends_once(engine: OpenAIEngine, case: Case) -> None:
    chunks = await whole(engine, case.replica, case.request(case.long_prompt))
    assert len(chunks) > 20
    assert (ids_of(chunks[:-1]) is not None) == ("ids" in case.replica.continues)
    assert [chunk.finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].finish_reason == "length"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == tokens_of(chunks) == 40


async def test_an_answer_that_stops_by_itself_says_so(engine: OpenAIEngine, case: Case) -> None:
    chunks = await whole(engine, case.replica, case.request(case.short_prompt, max_tokens=200))
    assert text_of(chunks)
    assert chunks[-1].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == tokens_of(chunks) < 200


async def test_characters_come_whole_and_every_token_is_counted(engine: OpenAIEngine, case: Case) -> None:
    chunks = await whole(engine, case.replica, case.request(case.unicode_prompt, max_tokens=30))
    assert "🦀" in text_of(chunks)
    assert "\ufffd" not in text_of(chunks)
    assert any(chunk.tokens > 1 for chunk in chunks)
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == tokens_of(chunks)


async def test_a_prompt_over_the_context_is_too_long(engine: OpenAIEngine, case: Case) -> None:
    request = case.request("secret " * (case.context_length + 10))
    counted = await engine.count_chat(case.replica, request.messages)
    with pytest.raises(ContextTooLong) as refused:
        await whole(engine, case.replica, request)
    assert refused.value.n_ctx == case.context_length
    assert refused.value.n_prompt == counted
    assert "secret" not in str(refused.value)


async def test_a_bad_parameter_is_refused(engine: OpenAIEngine, case: Case) -> None:
    request = msgspec.structs.replace(case.request("hello"), response_format={"type": "sonnet"})
    with pytest.raises(Refused) as refused:
        await whole(engine, case.replica, request)
    assert refused.value.status == 400
    assert not isinstance(refused.value, ContextTooLong)


async def test_text_that_is_no_unicode_is_refused_before_it_is_sent(engine: OpenAIEngine, case: Case) -> None:
    request = case.request("my secret \ud83e")
    for asking in (
        whole(engine, case.replica, request),
        engine.count_chat(case.replica, request.messages),
        engine.count_tokens(case.replica, request.messages[0].content),
    ):
        with pytest.raises(Refused) as refused:
            await asking
        assert refused.value.code == "not_unicode"
        assert "secret" not in str(refused.value)


async def test_closing_the_stream_frees_the_slot(engine: OpenAIEngine, case: Case) -> None:
    request = case.request(case.long_prompt, max_tokens=1500)
    async with aclosing(engine.stream(case.replica, request, Progress(), None)) as stream:
        chunk = await anext(stream)
        assert chunk.text
        assert case.running() == 1
    await eventually(lambda: case.running() == 0, within_s=8)  # its own end is further off


async def test_going_on_by_text_gives_exactly_the_rest(engine: OpenAIEngine, case: Case) -> None:
    request = case.request(case.long_prompt)
    chunks = await whole(engine, case.replica, request)
    for cut in CUTS:
        begun = progress_of(chunks[:cut])
        assert begun.text == begun.text.rstrip()
        rest = await whole(engine, case.replica, request, begun, "text")
        assert begun.text + text_of(rest) == text_of(chunks)
        assert rest[-1].finish_reason == "length"
        assert begun.tokens + tokens_of(rest) == 40


@pytest.mark.parametrize("case", ["fake vllm"], indirect=True)
@pytest.mark.parametrize("prompt", ["long_prompt", "unicode_prompt"])
async def test_going_on_by_ids_gives_exactly_the_rest(engine: OpenAIEngine, case: Case, prompt: str) -> None:
    request = case.request(getattr(case, prompt))
    chunks = await whole(engine, case.replica, request)
    for cut in CUTS:
        rest = await whole(engine, case.replica, request, progress_of(chunks[:cut]), "ids")
        assert text_of(chunks[:cut]) + text_of(rest) == text_of(chunks)
        assert (ids_of(chunks[:cut]) or []) + (ids_of(rest) or []) == ids_of(chunks)
        assert rest[-1].finish_reason == chunks[-1].finish_reason


async def test_an_answer_with_no_tokens_left_asks_nobody(engine: OpenAIEngine, case: Case) -> None:
    replica = msgspec.structs.replace(case.replica, url="http://127.0.0.1:1")
    begun = Progress("It was", None, 40)
    (chunk,) = await whole(engine, replica, case.request("hello"), begun, "text")
    assert (chunk.finish_reason, chunk.text, chunk.usage) == ("length", "", Usage())


async def test_going_on_without_a_way_is_a_fault_of_the_caller(engine: OpenAIEngine, case: Case) -> None:
    with pytest.raises(ValueError, match="needs a way"):
        await whole(engine, case.replica, case.request("hello"), Progress("It was", None, 2), None)


async def test_a_chat_is_counted_as_the_engine_counts_it(engine: OpenAIEngine, case: Case) -> None:
    messages = [
        ChatMessage("system", "You are brief."),
        ChatMessage("user", "What is  this? é 🦀\n\n"),
        ChatMessage("assistant", "A crab."),
        ChatMessage("user", "And this: <|im_end|> 中"),
    ]
    request = msgspec.structs.replace(case.request(""), messages=messages, max_tokens=2)
    chunks = await whole(engine, case.replica, request)
    assert chunks[-1].usage is not None
    assert await engine.count_chat(case.replica, messages) == chunks[-1].usage.prompt_tokens


async def test_a_text_is_counted_without_template(engine: OpenAIEngine, case: Case) -> None:
    text = "Tell me about crabs: 🦀 and 中"
    with_text = await engine.count_chat(case.replica, [ChatMessage("user", text)])
    without = await engine.count_chat(case.replica, [ChatMessage("user", "")])
    assert await engine.count_tokens(case.replica, text) == with_text - without
    assert await engine.count_tokens(case.replica, "") == 0


async def test_a_running_engine_is_healthy(engine: OpenAIEngine, case: Case) -> None:
    assert await engine.healthy(case.replica)
    assert not await engine.healthy(msgspec.structs.replace(case.replica, url="http://127.0.0.1:1"))
