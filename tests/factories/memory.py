"""Histories for tests of the window, the prompt and its assembly."""

from hypothesis import strategies as st

from memory.core.values import Turn


def words(count: int, word: str = "word") -> str:
    """A text of so many words, which the tests' tokenizer counts as tokens."""
    return " ".join([word] * count)


def alternating(*sizes: int) -> list[Turn]:
    """User and assistant in turn, of these sizes in tokens, counted."""
    return [
        Turn(pk, "assistant" if pk % 2 else "user", words(size, f"w{pk}"), size)
        for pk, size in enumerate(sizes)
    ]


@st.composite
def histories(draw: st.DrawFn, most: int = 60, biggest: int = 60) -> list[Turn]:
    """Any mix of roles, with failed (empty) answers, ending in a user turn; no two texts are alike."""
    drawn = draw(
        st.lists(
            st.tuples(st.sampled_from(["user", "assistant"]), st.integers(0, biggest)),
            min_size=0,
            max_size=most,
        )
    )
    last = draw(st.integers(1, biggest))
    return [
        Turn(
            pk,
            role,
            words(0 if role == "assistant" and size < 8 else max(1, size), f"w{pk}"),
            0 if role == "assistant" and size < 8 else max(1, size),
        )
        for pk, (role, size) in enumerate([*drawn, ("user", last)])
    ]
