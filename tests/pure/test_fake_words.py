"""The fake engine's language holds what the other tests lean on."""

from hypothesis import given
from hypothesis import strategies as st

from tests.engines import plan, words


@given(
    st.text(alphabet=st.characters(blacklist_categories=["Cs"]))
    | st.from_regex(r"( (00af\.)?w[0-9]{1,7}| 🦀)*")
)
def test_ids_are_the_text(text: str) -> None:
    assert words.decode(words.encode(text)) == text


@given(st.text())
def test_a_script_in_pieces_is_the_script(text: str) -> None:
    assert "".join(words.scripted(text)) == text


def test_a_word_is_a_token_and_a_crab_is_two() -> None:
    assert len(words.encode(words.answer(50, seed="00af"))) == 50
    assert len(words.encode(words.CRAB)) == 2
    assert len(set(words.encode(words.answer(50)) + words.encode(words.answer(50, seed="00af")))) == 100


def test_a_prompt_tells_its_last_user_message_and_the_answer_begun() -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": " w0"},
        {"role": "user", "content": "two w1"},
    ]
    ids = words.chat_ids(messages, generation=True, open_end=False)
    assert words.read_prompt(ids) == ("two w1", [])
    assert words.read_prompt(ids + words.encode(" w0 w1")) == ("two w1", words.encode(" w0 w1"))


def test_the_last_directive_counts() -> None:
    directed = plan.directed(plan.Plan(tokens=3), "a [[tokens=5]] b [[tokens=7 crlf cut_at=2 always]] c")
    assert (directed.tokens, directed.crlf, directed.cut_at, directed.times) == (7, True, 2, 0)
    assert plan.directed(plan.Plan(tokens=3), "no directive") == plan.Plan(tokens=3)
