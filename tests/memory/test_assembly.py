"""Prompts against known tokenizers and templates: never over the limit, never empty, counted once."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.values import ChatMessage, ReplicaView
from memory import assembly, counting
from memory.core.values import Budget, Overhead, Turn
from memory.counting import KnownCounts
from memory.errors import MessageTooLong, NothingToAnswer
from tests.factories.counters import WordCounter, chatml
from tests.factories.memory import alternating, histories, words

Template = Callable[[list[ChatMessage]], int]


def budget(prompt_tokens: int) -> Budget:
    return Budget(prompt_tokens + 100, 100, margin_tokens=0)


def uncounted(turns: list[Turn]) -> list[Turn]:
    return [replace(turn, tokens=None) for turn in turns]


async def build(
    counter: WordCounter, turns: list[Turn], prompt_tokens: int, system: str = ""
) -> assembly.Built:
    return await assembly.build(counter, system, turns, budget(prompt_tokens), known=KnownCounts())


def adds_a_system_message(messages: list[ChatMessage]) -> int:
    return chatml(messages) + (0 if messages[0].role == "system" else 30)


def costs_more_the_longer(messages: list[ChatMessage]) -> int:
    return chatml(messages) + len(messages) ** 2


def odd_pairs(messages: list[ChatMessage]) -> int:
    return 5 + sum(7 if message.role == "assistant" else 2 for message in messages)


def counts_spaces(messages: list[ChatMessage]) -> int:
    """Text in a prompt takes half as much again as it does bare."""
    return chatml(messages) + sum(len(message.content.split()) for message in messages) // 2


templates = st.sampled_from([chatml, adds_a_system_message, costs_more_the_longer, odd_pairs, counts_spaces])


@given(histories(), st.integers(30, 900), templates, st.sampled_from(["", "Be brief."]))
def test_never_over_the_limit_and_never_without_the_newest(
    history: list[Turn], limit: int, template: Template, system: str
) -> None:
    counter = WordCounter("any", template)
    alone = [*([ChatMessage("system", system)] if system else []), ChatMessage("user", history[-1].text)]
    if counter.exact(alone) > limit:
        with pytest.raises(MessageTooLong):
            asyncio.run(build(counter, uncounted(history), limit, system))
    else:
        context = asyncio.run(build(counter, uncounted(history), limit, system)).context
        assert counter.exact(context.messages) <= limit
        assert context.messages[-1].content.endswith(history[-1].text)
        assert context.included[-1] == history[-1].pk


@pytest.mark.parametrize("template", [chatml, adds_a_system_message, odd_pairs])
@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_whole_prompt_around_the_limit(template: Template, over: int) -> None:
    history = alternating(10, 10, 10, 10, 10)
    counter = WordCounter("m", template)
    exact = counter.exact([ChatMessage(turn.role, turn.text) for turn in history])
    context = (await build(counter, history, exact - over)).context
    if over <= 0:
        assert (context.included, context.prompt_tokens) == ((0, 1, 2, 3, 4), exact)
    else:
        assert context.included == (2, 3, 4)
        assert context.reasons == ("older_turns_dropped",)
        assert counter.exact(context.messages) < exact


@pytest.mark.parametrize("template", [chatml, adds_a_system_message, counts_spaces])
@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_newest_message_around_the_limit(template: Template, over: int) -> None:
    newest = Turn(2, "user", words(200))
    history = [*alternating(10, 10), newest]
    counter = WordCounter("m", template)
    exact = counter.exact([ChatMessage("user", newest.text)])
    if over <= 0:
        context = (await build(counter, history, exact - over)).context
        assert (context.included, context.prompt_tokens, context.dropped) == ((2,), exact, 2)
    else:
        with pytest.raises(MessageTooLong) as refusal:
            await build(counter, history, exact - over)
        assert (refusal.value.limit_tokens, refusal.value.tokens) == (199, 200)


async def test_much_too_long_is_refused_without_asking_again() -> None:
    counter = WordCounter("m")
    known = KnownCounts()
    await known.overhead(counter, with_system=False)
    counter.chats.clear()
    with pytest.raises(MessageTooLong) as refusal:
        await assembly.build(counter, "", [Turn(0, "user", words(5000))], budget(100), known=known)
    assert (refusal.value.limit_tokens, refusal.value.tokens) == (93, 5000)
    assert counter.chats == []


async def test_only_what_is_new_is_counted_and_handed_out() -> None:
    counter = WordCounter("m")
    history = [*alternating(3, 3), Turn(2, "user", "three new words")]
    built = await build(counter, history, 1000)
    assert built.counted == {2: 3}
    assert sorted(counter.texts) == [counting.PROBE, counting.LONG_PROBE, "three new words"]


async def test_with_room_to_spare_the_engine_is_asked_for_the_new_message_only() -> None:
    counter = WordCounter("m")
    known = KnownCounts()
    history = alternating(3, 3, 3, 3)
    await assembly.build(counter, "Be brief.", history[:1], budget(1000), known=known)
    counter.texts.clear()
    counter.chats.clear()
    built = await assembly.build(
        counter, "Be brief.", [*history, Turn(4, "user", "And now?")], budget(1000), known=known
    )
    assert (counter.texts, counter.chats) == (["And now?"], [])
    assert built.context.prompt_tokens == counter.exact(built.context.messages)


async def test_near_the_limit_the_engine_counts_the_prompt_once() -> None:
    counter = WordCounter("m")
    known = KnownCounts()
    await known.overhead(counter, with_system=False)
    counter.chats.clear()
    built = await assembly.build(counter, "", alternating(30, 30, 30), budget(110), known=known)
    assert counter.chats == [built.context.messages]
    assert built.context.prompt_tokens == 105


async def test_a_template_that_is_not_linear_is_never_trusted() -> None:
    counter = WordCounter("m", costs_more_the_longer)
    built = await build(counter, alternating(3, 3, 3), 10_000)
    assert built.context.messages in counter.chats
    assert built.context.prompt_tokens == counter.exact(built.context.messages)


@pytest.mark.parametrize(
    ("template", "with_system", "expected"),
    [
        (chatml, False, Overhead(3, 4)),
        (chatml, True, Overhead(7, 4)),
        (adds_a_system_message, False, Overhead(33, 4)),
        (adds_a_system_message, True, Overhead(7, 4)),
        (odd_pairs, False, Overhead(2.5, 4.5)),
        (costs_more_the_longer, False, Overhead(-4, 12, linear=False)),
        (counts_spaces, False, Overhead(-17, 24, linear=False)),
    ],
)
async def test_measuring_a_template(template: Template, with_system: bool, expected: Overhead) -> None:
    assert await counting.measure(WordCounter("m", template), with_system=with_system) == expected


async def test_a_template_is_measured_once_a_model() -> None:
    known = KnownCounts()
    one, other = WordCounter("one"), WordCounter("other", odd_pairs)
    for counter in (one, one, other):
        await known.overhead(counter, with_system=False)
    assert (len(one.chats), len(other.chats)) == (3, 3)
    assert await known.overhead(other, with_system=False) == Overhead(2.5, 4.5)


async def test_texts_that_come_again_are_counted_once_and_not_kept_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "KEPT_TEXTS", 2)
    known, counter = KnownCounts(), WordCounter("m")
    for text in ("a", "b b", "a", "c", "a", "b b"):
        await known.text(counter, text)
    assert counter.texts == ["a", "b b", "c", "b b"]


async def test_a_long_uncounted_history_is_counted_as_far_as_it_matters_and_stays_put() -> None:
    history = uncounted(alternating(*[10] * 1001))
    first = await build(WordCounter("m"), history, 500)
    assert len(first.counted) == 2 * assembly.COUNT_BATCH
    assert first.context.dropped + len(first.context.included) == 1001
    stored = [replace(turn, tokens=first.counted.get(turn.pk)) for turn in history]
    grown = [*stored, Turn(1001, "assistant", "Yes."), Turn(1002, "user", "Go on.")]
    second = await build(WordCounter("m"), grown, 500)
    assert second.counted == {1001: 1, 1002: 2}
    assert second.context.included[0] == first.context.included[0]


async def test_counts_a_few_at_a_time() -> None:
    running = most = 0
    turns_taken = asyncio.Event()

    class Slow(WordCounter):
        async def text(self, text: str) -> int:
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == counting.AT_ONCE:
                turns_taken.set()
            await turns_taken.wait()
            running -= 1
            return 1

    assert await counting.count_all(Slow("m"), ["x"] * 40) == [1] * 40
    assert most == counting.AT_ONCE


async def test_a_failed_count_ends_the_others_and_says_why() -> None:
    ended = asyncio.Event()

    class Broken(WordCounter):
        async def text(self, text: str) -> int:
            if text == "bad":
                raise ConnectionRefusedError("engine gone")
            try:
                return await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.set()
                raise

    with pytest.raises(ConnectionRefusedError, match="engine gone"):
        await counting.count_all(Broken("m"), ["good", "bad"])
    await asyncio.wait_for(ended.wait(), 5)


async def test_counts_on_the_replica_that_will_answer() -> None:
    replica = ReplicaView("one", "http://127.0.0.1:1", "smollm2", 4)
    hello = [ChatMessage("user", "hello there")]

    class Engine(WordCounter):
        async def count_tokens(self, asked: ReplicaView, text: str) -> int:
            assert asked is replica
            return await self.text(text)

        async def count_chat(self, asked: ReplicaView, messages: list[ChatMessage]) -> int:
            assert asked is replica
            return await self.chat(messages)

    counter = counting.EngineCounter(Engine("not asked"), replica)
    assert (counter.model, await counter.text("hello there"), await counter.chat(hello)) == ("smollm2", 2, 9)


async def test_nothing_to_answer_asks_nothing() -> None:
    counter = WordCounter("m")
    with pytest.raises(NothingToAnswer):
        await build(counter, [], 100)
    assert (counter.texts, counter.chats) == ([], [])
