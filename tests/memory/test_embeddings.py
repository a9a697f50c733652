"""The fake embedder keeps the promises that tests of recall lean on."""

import math

import pytest

from memory.embeddings import FakeEmbedder


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_same_text_same_vector_normalised() -> None:
    texts = ["I like green tea", "", "I like green tea", "🦀"]
    vectors = await FakeEmbedder().encode(texts, 1)
    assert vectors[0] == vectors[2] != vectors[1]
    assert [len(vector) for vector in vectors] == [384] * 4
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1] * 4)
    assert vectors == await FakeEmbedder().encode(texts, 1)


async def test_shared_words_are_closer() -> None:
    question, near, far = await FakeEmbedder().encode(
        ["which tea do I like", "I like green tea", "trains to Lisbon leave hourly"], 1
    )
    assert dot(question, near) > 0.4 > 0.2 > dot(question, far)


async def test_size_as_asked() -> None:
    assert len((await FakeEmbedder(8).encode(["x"], 1))[0]) == 8
