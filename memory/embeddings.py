"""Texts as vectors: the protocol, the encoder behind it, and a fake that needs no model.

No torch in here. `name` and `dimensions` are stored with each vector: those of two models don't compare.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from inference.encoder import client


class Embedder(Protocol):
    """Normalised vectors of one size."""

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""

    async def encode(self, texts: Sequence[str], deadline_s: float) -> list[list[float]]:
        """One vector a text, in order; raises inference's Unavailable when there is none in time."""


class EncoderEmbedder:
    """MiniLM in the encoder process."""

    name = client.MODEL
    dimensions = 384

    def __init__(self, encoder: client.EncoderClient) -> None:
        self._encoder = encoder

    async def encode(self, texts: Sequence[str], deadline_s: float) -> list[list[float]]:
        """One vector a text, in order; raises Unavailable or Refused."""
        return await self._encoder.embed(texts, deadline_s)


class FakeEmbedder:
    """For tests: the same text gives the same vector, and shared words bring texts closer."""

    name = "fake-words"

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions

    async def encode(self, texts: Sequence[str], deadline_s: float) -> list[list[float]]:
        """One vector a text, in order, at once."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word, times in Counter(text.casefold().split() or [""]).items():
            bits = int.from_bytes(hashlib.shake_128(word.encode()).digest(self.dimensions // 8 + 1), "big")
            for place in range(self.dimensions):
                vector[place] += times if bits >> place & 1 else -times
        length = math.sqrt(sum(number * number for number in vector)) or 1.0
        return [number / length for number in vector]
