"""Events out of bytes, however they are cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core import sse

STREAM = (
    b': hello\r\ndata: {"a":1}\r\n\r\nid: 7\nevent: x\ndata:{"b":\ndata: 2}\n\n'
    b"\n\ndata: \xc3\xa9\n\ndata: [DONE]\n\n"
)
EVENTS = [b'{"a":1}', b'{"b":\n2}', b"\xc3\xa9", b"[DONE]"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    parser = sse.Parser()
    blocks = [STREAM[a:b] for a, b in itertools.pairwise(edges)]
    assert [event for block in blocks for event in parser.feed(block)] == EVENTS


def test_one_byte_at_a_time() -> None:
    parser = sse.Parser()
    assert [event for byte in STREAM for event in parser.feed(bytes([byte]))] == EVENTS


def test_an_unfinished_event_is_none() -> None:
    assert sse.Parser().feed(b"data: 1\n\ndata: 2\n") == [b"1"]


def test_a_line_without_end_is_refused() -> None:
    parser = sse.Parser()
    assert parser.feed(b"x" * sse.MAX_LINE_BYTES) == []
    with pytest.raises(ValueError, match="no end"):
        parser.feed(b"x")
