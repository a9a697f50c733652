"""OpenAI's forms for embeddings: what is asked, what is answered, what an error looks like.

Pure but for msgspec; knows no HTTP server and no model.
"""

import base64
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from inference.encoder.batches import Encoded

PATH = "/v1/embeddings"
# How long the caller will wait, in milliseconds from when the request arrives.
DEADLINE_HEADER = "X-Deadline-Ms"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold; a text is cut by the model long before `text_characters`."""

    texts: int = 128
    text_characters: int = 32_000
    body_bytes: int = 8 * 1024 * 1024
    default_deadline_s: float = 30.0
    longest_deadline_s: float = 120.0


class Problem(Exception):
    """A refusal in OpenAI's words."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s

    def as_json(self) -> bytes:
        """OpenAI's error object."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return msgspec.json.encode({"error": error})


class Asked(msgspec.Struct, frozen=True):
    """The body of a request; other fields (`user`) are ignored."""

    input: str | list[str]
    model: str
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None

    @property
    def texts(self) -> list[str]:
        """The input as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


_decoder = msgspec.json.Decoder(Asked)


def parse(body: bytes, limits: Limits, model: str, dimensions: int) -> Asked:
    """The request, checked; raises Problem with the reason."""
    try:
        asked = _decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Problem(400, f"The request is not valid: {error}", param=_field_of(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Problem(400, "The body is not valid JSON in UTF-8.") from None
    if asked.model != model:
        message = f"There is no model {asked.model[:100]!r} here; this is {model}."
        raise Problem(404, message, code="model_not_found", param="model")
    if asked.dimensions not in (None, dimensions):
        raise Problem(400, f"dimensions can only be {dimensions}.", param="dimensions")
    _check_texts(asked.texts, limits)
    return asked


def _check_texts(texts: Sequence[str], limits: Limits) -> None:
    if not texts or "" in texts:
        raise Problem(400, "input must be a text or a list of texts, none of them empty.", param="input")
    if len(texts) > limits.texts:
        raise Problem(
            400, f"input has {len(texts)} texts, the limit is {limits.texts}.", param="input", code="too_many"
        )
    longest = max(map(len, texts))
    if longest > limits.text_characters:
        message = f"A text has {longest} characters, the limit is {limits.text_characters}."
        raise Problem(413, message, param="input", code="too_long")


def _field_of(message: str) -> str | None:
    """msgspec names the place as `$.field`, or the field that is missing."""
    for name in Asked.__struct_fields__:
        if f"`$.{name}" in message or f"field `{name}`" in message:
            return name
    return None


def parse_deadline(header: str | None, limits: Limits) -> float:
    """Seconds to go; raises Problem for anything but a whole number of milliseconds above zero."""
    if header is None:
        return limits.default_deadline_s
    if not (header.isascii() and header.isdigit() and 0 < len(header) < 10 and int(header)):
        raise Problem(400, f"{DEADLINE_HEADER} is a whole number of milliseconds.", param=DEADLINE_HEADER)
    return min(int(header) / 1000, limits.longest_deadline_s)


def render(asked: Asked, encoded: Sequence[Encoded]) -> bytes:
    """The answer's body."""
    form = _as_base64 if asked.encoding_format == "base64" else floats
    tokens = sum(one.tokens for one in encoded)
    return msgspec.json.encode(
        {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": form(one.vector)}
                for index, one in enumerate(encoded)
            ],
            "model": asked.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )


def floats(vector: bytes) -> list[float]:
    """A float32 little-endian vector as numbers; raises ValueError for a broken one."""
    numbers = array("f")
    numbers.frombytes(vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def _as_base64(vector: bytes) -> Any:
    return base64.b64encode(vector).decode("ascii")
