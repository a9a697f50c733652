"""Characters joined from whatever an engine made of them, with their ids."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.pieces import MOST_HELD, Pieces
from inference.core.values import Chunk


def taken(*events: tuple[str, list[int] | None, int]) -> list[Chunk]:
    pieces = Pieces()
    chunks = []
    for text, ids, tokens in events:
        pieces.add(text, ids, tokens)
        if (chunk := pieces.take()) is not None:
            chunks.append(chunk)
    return [*chunks, pieces.take_all("stop", None)]


END = Chunk(ids=[], finish_reason="stop")


def test_plain_text_is_passed_on_as_it_comes() -> None:
    assert taken(("a", [1], 1), ("é", [2], 1)) == [Chunk("a", [1], 1), Chunk("é", [2], 1), END]


@pytest.mark.parametrize(
    "halves",
    [
        ("\ud83e", "\udd80"),
        ("", "🦀"),
        ("\udcf0\udc9f", "\udca6\udc80"),
        ("\udcf0", "\udc9f\udca6\udc80"),
    ],
)
def test_halves_of_a_character_are_one_chunk(halves: tuple[str, str]) -> None:
    first, second = halves
    chunks = taken(("a", [1], 1), (first, [2], 1), (second, [3], 1), ("b", [4], 1))
    assert chunks == [Chunk("a", [1], 1), Chunk("🦀", [2, 3], 2), Chunk("b", [4], 1), END]


def test_text_before_a_half_waits_with_it() -> None:
    assert taken(("a\ud83e", [1], 1), ("\udd80b", [2], 1))[0] == Chunk("a🦀b", [1, 2], 2)


def test_a_replacement_at_the_end_waits_for_what_follows() -> None:
    assert taken(("\ufffd", [1], 1), ("x", [2], 1))[0] == Chunk("\ufffdx", [1, 2], 2)
    assert taken(("\ufffdx", [1], 1))[0] == Chunk("\ufffdx", [1], 1)


def test_what_stays_broken_is_let_go() -> None:
    chunks = taken(*[("\ufffd", [n], 1) for n in range(MOST_HELD)])
    assert chunks == [Chunk("\ufffd" * MOST_HELD, list(range(MOST_HELD)), MOST_HELD), END]
    assert taken(("\ud83e", [1], 1)) == [Chunk("\ufffd", [1], 1, "stop")]
    assert taken(("\udd80 lone", [1], 1))[0].text == "\ufffd lone"


def test_nul_is_left_out_and_its_token_kept() -> None:
    assert taken(("a\0b", [1], 1))[0] == Chunk("ab", [1], 1)
    assert taken(("\0", [1], 1), ("b", [2], 1))[0] == Chunk("b", [1, 2], 2)


def test_ids_are_none_where_one_is_unknown_or_they_are_fewer_than_the_tokens() -> None:
    assert taken(("a", None, 1))[0].ids is None
    assert taken(("", [1], 1), ("a", None, 1))[0].ids is None
    assert taken(("🦀", [3], 3))[0].ids is None
    assert taken(("a", [1], 1), ("", None, 0), ("b", [2], 1))[1].ids == [2]


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=20), st.data())
def test_any_text_cut_into_utf16_halves_comes_back_whole(text: str, data: st.DataObject) -> None:
    halves = [json.loads(f'"\\u{unit:04x}"') for unit in memoryview(text.encode("utf-16-le")).cast("H")]
    chunks = taken(*[(half, [n], 1) for n, half in enumerate(halves)])
    assert "".join(chunk.text for chunk in chunks) == text.replace("\0", "")
    assert [one for chunk in chunks for one in chunk.ids or []] == list(range(len(halves)))
    for chunk in chunks:
        chunk.text.encode()  # no half is ever let out
