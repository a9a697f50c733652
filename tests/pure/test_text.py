"""Cleaning text: always storable, never more than needed, the same when done twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.text import clean, title

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=40)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a\0b\0", "ab"),
        ("\ud83e\udd80", "\U0001f980"),
        ("\ud83e", "\ufffd"),
        ("\udd80\ud83e", "\ufffd\ufffd"),
        ("\ud83ea", "\ufffda"),
        ("\ud83e\0\udd80", "\U0001f980"),
        ("\ufeff\u200d\n \t", "\ufeff\u200d\n \t"),
    ],
)
def test_what_stays(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(ANYTHING)
def test_it_is_utf_8_without_nul(text: str) -> None:
    cleaned = clean(text)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned


@given(ANYTHING)
def test_twice_is_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_good_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("What is it?", "What is it?"),
        (" What\n do  bees ", "What do bees"),
        ("twelve chars", "twelve chars"),
        ("twelve chars!", "twelve…"),
        ("Write a long story", "Write a…"),
        ("a incomprehensibilities", "a incompreh…"),
        ("incomprehensibilities", "incomprehen…"),
    ],
)
def test_a_title_is_cut_between_words(text: str, shown: str) -> None:
    assert title(text, 12) == shown


@given(ANYTHING, st.integers(1, 60))
def test_a_title_has_no_more_characters_than_asked(text: str, chars: int) -> None:
    assert len(title(text, chars)) <= chars
