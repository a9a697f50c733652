"""The Python reader: the vectors that the web UI's reader passes too, and what must hold for any delivery.

Logs are made up here by the rules of the protocol; the real scripts are tested in tests/inference.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.events import Delta, Done, EntryId, Event, Open, Snapshot, decode, text_parts
from inference.core.reader import Action, Reader

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "reader.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vector(vector: dict[str, Any]) -> None:
    reader = Reader()
    seen: list[dict[str, Any]] = []
    for item in vector["events"]:
        event = decode(msgspec.json.encode(item["event"]))
        action = reader.take(EntryId.parse(item["id"]), event, item.get("from"))
        end = {"needs_fetch": reader.needs_fetch} if action is Action.END else {}
        seen.append({"action": action.value, **end})
    assert seen == vector["expect"]
    assert reader.text == vector["text"]
    assert (str(reader.last) if reader.last.n >= 0 else None) == vector["last"]


class Entry(NamedTuple):
    """One entry of a log."""

    id: EntryId
    event: Event


class Story(NamedTuple):
    """A whole log; `text` is what it ends with, `mends` whether an attempt began with less than was shown."""

    entries: list[Entry]
    text: str
    mends: bool


texts = st.text(alphabet="ab 🦀\u0301", min_size=0, max_size=4)


@st.composite
def stories(draw: st.DrawFn, mends: bool = False) -> Story:
    """Attempts one after the other, each going on from the text that stands, by `open` or by `snapshot`."""
    text, entries, cut = draw(texts), list[Entry](), False
    for attempt in range(1, draw(st.integers(1, 4)) + 1):
        number = 2 * attempt if draw(st.booleans()) else 2 * attempt - 1
        lost = draw(st.integers(0, len(text))) if mends and entries else 0
        cut, text = cut or lost > 0, text[: len(text) - lost]
        by_text = draw(st.booleans()) or (not entries and bool(text))
        begin = Snapshot(text_parts(text)) if by_text else Open(keep=len(text), why="resumed")
        entries.append(Entry(EntryId(number, 0), begin))
        for n, piece in enumerate(draw(st.lists(texts, max_size=5)), 1):
            entries.append(Entry(EntryId(number, n), Delta(0, piece)))
            text += piece
    last = entries[-1].id
    entries.append(Entry(EntryId(last.attempt, last.n + 1), Done("complete", len(text))))
    return Story(entries, text, cut)


def merged(run: list[Entry]) -> tuple[Entry, int]:
    """Deltas of one attempt as one event, and the number it counts from."""
    text = "".join(entry.event.text for entry in run if isinstance(entry.event, Delta))
    return Entry(run[-1].id, Delta(0, text)), run[0].id.n


def read_on(reader: Reader, entries: list[Entry], merges: bool) -> None:
    """What the log has after `last`: in order, without a gap, deltas perhaps merged."""
    run: list[Entry] = []
    for entry in [entry for entry in entries if entry.id > reader.last]:
        joins = merges and isinstance(entry.event, Delta)
        if run and not (joins and run[-1].id.attempt == entry.id.attempt):
            event, n_from = merged(run)
            assert reader.take(event.id, event.event, n_from) is Action.ADD
            run = []
        if joins:
            run.append(entry)
        else:
            assert reader.take(entry.id, entry.event) is not Action.GAP
    if run:
        event, n_from = merged(run)
        assert reader.take(event.id, event.event, n_from) is Action.ADD


@given(stories(), st.data())
def test_any_delivery_ends_with_the_logs_fold(story: Story, data: st.DataObject) -> None:
    """Lost, doubled and swapped events, reads in between: the text only ever grows towards the final one."""
    reader, shown = Reader(), ""
    # `done` taken early ends a reader, which then fetches; that is another test.
    live = story.entries[:-1]
    picks = data.draw(st.lists(st.integers(0, max(0, len(live) - 1)), max_size=3 * len(live)))
    for pick in picks:
        before = (reader.last, reader.text)
        written = [entry for entry in live if entry.id <= live[pick].id]
        action = reader.take(live[pick].id, live[pick].event)
        if action in {Action.GAP, Action.DROP}:
            assert (reader.last, reader.text) == before
        if action is Action.GAP:
            read_on(reader, written, merges=data.draw(st.booleans()))
            assert reader.last == live[pick].id
        assert story.text.startswith(reader.text)
        assert len(reader.text) >= len(shown)
        shown = reader.text
    read_on(reader, story.entries, merges=data.draw(st.booleans()))
    assert reader.text == story.text
    assert reader.done is not None
    assert not reader.needs_fetch


@given(stories(mends=True), st.data())
def test_after_a_double_fault_text_is_never_doubled_or_mixed(story: Story, data: st.DataObject) -> None:
    """At every entry the reader has exactly what the log up to there says, whenever it joined."""
    joins = data.draw(st.integers(0, len(story.entries)))
    reader = Reader()
    read_on(reader, story.entries[:joins], merges=data.draw(st.booleans()))
    for stop in range(joins, len(story.entries) + 1):
        fresh = Reader()
        for entry in story.entries[:stop]:
            assert fresh.take(entry.id, entry.event) is not Action.GAP
        read_on(reader, story.entries[:stop], merges=False)
        assert reader.text == fresh.text
    assert reader.text == story.text


@given(stories(), st.data())
def test_done_taken_early_asks_for_the_message(story: Story, data: st.DataObject) -> None:
    reader = Reader()
    read_on(reader, story.entries[: data.draw(st.integers(0, len(story.entries) - 1))], merges=False)
    done = story.entries[-1]
    assert reader.take(done.id, done.event) is Action.END
    assert reader.needs_fetch == (len(reader.text) != len(story.text))
    assert [reader.take(entry.id, entry.event) for entry in story.entries] == [Action.DROP] * len(
        story.entries
    )


@given(stories())
def test_a_block_drops_the_text(story: Story) -> None:
    reader = Reader()
    read_on(reader, story.entries[:-1], merges=False)
    assert reader.take(story.entries[-1].id, Done("blocked", len(story.text))) is Action.END
    assert reader.text == ""
    assert not reader.needs_fetch


@pytest.mark.parametrize(
    "raw", ["", "1", "1-", "-1", "1-2-3", "1.0-2", "+1-2", "1--2", "١-1", "1-9007199254740992"]
)
def test_what_is_no_id(raw: str) -> None:
    with pytest.raises(ValueError, match="two whole numbers"):
        EntryId.parse(raw)


def test_ids_compare_as_numbers_and_print_as_they_are_read() -> None:
    ids = ["1-2", "1-10", "2-0", "10-0", "10-9007199254740991"]
    assert [str(entry) for entry in sorted(map(EntryId.parse, reversed(ids)))] == ids
