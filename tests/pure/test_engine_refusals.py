"""What an engine's status and words mean; none of its words but short codes come through."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from inference import faults
from inference.errors import ContextTooLong, InferenceError, Refused, StreamCut, Unavailable


def told(status: int, error: object = None, headers: dict[str, str] | None = None) -> InferenceError:
    return faults.from_status(status, headers or {}, msgspec.json.encode({"error": error}))


TOO_LONG = {
    "llama.cpp": (
        {
            "code": 400,
            "message": "request (3031 tokens) exceeds the available context size (2048 tokens)",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 3031,
            "n_ctx": 2048,
        },
        (3031, 2048),
    ),
    "vllm with its sum": (
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
        "(112946 in the messages, 10000 in the completion). Please reduce the length of the messages.",
        (112946, 16384),
    ),
    "vllm with its input": (
        "This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus "
        "2045 'max_tokens'. Please reduce one or the other. (parameter=input_tokens, max_tokens)",
        (8, 2048),
    ),
    "vllm with the answer's limit": (
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length "
        "is 1000 tokens and your request has 203 input tokens (1000 > 1000 - 203). None",
        (203, 1000),
    ),
    "vllm with what was passed": (
        "You passed 3001 input tokens and requested 100 output tokens. However, the model's context length "
        "is only 2048 tokens, resulting in a maximum input length of 1948 tokens.",
        (3001, 2048),
    ),
    "vllm's engine": (
        "The decoder prompt (length 3001) is longer than the maximum model length of 2048.",
        (3001, 2048),
    ),
    "a code alone": ({"message": "too long", "code": "context_length_exceeded"}, (None, None)),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_too_long_in_every_wording(case: str) -> None:
    words, numbers = TOO_LONG[case]
    error = {"message": words, "type": "BadRequestError", "code": 400} if isinstance(words, str) else words
    refusal = told(400, error)
    assert isinstance(refusal, ContextTooLong)
    assert (refusal.n_prompt, refusal.n_ctx) == numbers


def test_vllms_older_form_without_a_wrapper() -> None:
    body = msgspec.json.encode(
        {"object": "error", "message": "the model's context length is only 5 tokens", "code": 400}
    )
    refusal = faults.from_status(400, {}, body)
    assert isinstance(refusal, ContextTooLong)
    assert refusal.n_ctx == 5


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, {"message": "no", "type": "BadRequestError", "code": 400}, "BadRequestError"),
        (404, {"message": "no", "type": "NotFoundError", "code": "model_not_found"}, "model_not_found"),
        (401, "Unauthorized", "status_401"),
        (422, {"detail": [{"input": "my secret"}]}, "status_422"),
        (400, {"type": "my secret prompt, quoted"}, "status_400"),
        (307, None, "status_307"),
    ],
)
def test_a_refusal_has_a_short_code_and_no_words(status: int, error: object, code: str) -> None:
    refusal = told(status, error)
    assert type(refusal) is Refused
    assert (refusal.code, refusal.status) == (code, status)
    assert "secret" not in str(refusal)


@pytest.mark.parametrize("body", [b"", b"<html>my secret</html>", b"[1]", b'{"error": 3}', b"\xff"])
def test_any_body_is_taken(body: bytes) -> None:
    refusal = faults.from_status(400, {}, body)
    assert isinstance(refusal, Refused)
    assert refusal.code == "status_400"


@pytest.mark.parametrize("status", [408, 425, 429, 502, 503, 504])
def test_busy_is_unavailable(status: int) -> None:
    assert isinstance(told(status), Unavailable)


@pytest.mark.parametrize("status", [500, 501, 507])
def test_broken_is_a_cut(status: int) -> None:
    broken = told(status)
    assert isinstance(broken, StreamCut)
    assert broken.reason == f"status_{status}"


@pytest.mark.parametrize(
    ("header", "seconds"), [("3", 3.0), (" 10 ", 10.0), ("0", 0.0), ("", None), ("soon", None), ("-1", None)]
)
def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    refusal = told(503, None, {"Retry-After": header})
    assert isinstance(refusal, Unavailable)
    assert refusal.retry_after_s == seconds


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    refusal = told(503, None, {"Retry-After": later})
    assert isinstance(refusal, Unavailable)
    assert refusal.retry_after_s == pytest.approx(60, abs=5)
    gone = told(503, None, {"Retry-After": "Mon, 01 Jan 2024 00:00:00 GMT"})
    assert isinstance(gone, Unavailable)
    assert gone.retry_after_s == 0
