"""Reads the fake engine's requests and refuses bad ones in the words of vLLM or of llama.cpp."""

from typing import Any

import msgspec

from tests.engines import words
from tests.engines.machine import Job
from tests.engines.plan import Settings


class Bad(Exception):
    """A request that this engine refuses; the body is the engine's own."""

    def __init__(self, body: bytes) -> None:
        super().__init__("refused")
        self.body = body


def error_body(code: int, message: str, kind: str = "invalid_request_error", **more: Any) -> bytes:
    """An error in OpenAI's shape."""
    return msgspec.json.encode(
        {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}
    )


def chat_job(settings: Settings, body: dict[str, Any]) -> Job:
    """A chat completion; raises Bad."""
    messages = [{"role": m["role"], "content": m["content"]} for m in body["messages"]]
    open_end = _open_end(settings, body, messages)
    ids = words.chat_ids(messages, generation=True, open_end=open_end)
    users = [message["content"] for message in messages if message["role"] == "user"]
    begun = messages[-1]["content"] if open_end else ""
    job = _job(settings, body, ids, "text" if begun else "chat", users[-1] if users else "", begun)
    job.messages = messages
    return job


def completion_job(settings: Settings, body: dict[str, Any]) -> Job:
    """A completion of token ids (or text); raises Bad."""
    ids = body["prompt"] if isinstance(body["prompt"], list) else words.encode(body["prompt"])
    user, begun_ids = words.read_prompt(ids)
    begun = words.decode(begun_ids)
    job = _job(settings, body, ids, "ids" if begun else "chat", user, begun)
    job.in_chat = False
    job.usage_apart = settings.dialect == "vllm"
    return job


def _open_end(settings: Settings, body: dict[str, Any], messages: list[dict[str, str]]) -> bool:
    asked = bool(body.get("continue_final_message"))
    if asked and body.get("add_generation_prompt", True):
        raise Bad(error_body(400, "Cannot set both add_generation_prompt and continue_final_message"))
    last_is_ours = bool(messages) and messages[-1]["role"] == "assistant"
    return last_is_ours and (asked or settings.dialect == "llama.cpp")


def _job(settings: Settings, body: dict[str, Any], ids: list[int], way: str, user: str, begun: str) -> Job:
    max_tokens = body.get("max_tokens", settings.context_length)
    if not isinstance(max_tokens, int):
        raise Bad(error_body(400, "max_tokens: type must be number, but is another"))
    kind = (body.get("response_format") or {"type": "text"}).get("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise Bad(error_body(400, 'response_format type must be one of "text" or "json_object"'))
    _check_length(settings, len(ids), max_tokens if "max_tokens" in body else 0)
    options = body.get("stream_options") or {}
    is_vllm = settings.dialect == "vllm"
    wants_usage = bool(options.get("include_usage"))
    return Job(
        way=way,
        user=user,
        begun=begun,
        prompt_tokens=len(ids),
        max_tokens=max_tokens,
        prompt_ids=ids,
        gives_ids=is_vllm and bool(body.get("return_token_ids")),
        gives_usage=wants_usage,
        gives_usage_always=is_vllm and wants_usage and bool(options.get("continuous_usage_stats")),
        gives_timings=not is_vllm and bool(body.get("timings_per_token")),
    )


def _check_length(settings: Settings, n_prompt: int, max_tokens: int) -> None:
    n_ctx = settings.context_length
    if settings.dialect == "llama.cpp" and n_prompt >= n_ctx:
        message = f"request ({n_prompt} tokens) exceeds the available context size ({n_ctx} tokens)"
        raise Bad(
            error_body(400, message, "exceed_context_size_error", n_prompt_tokens=n_prompt, n_ctx=n_ctx)
        )
    if settings.dialect == "vllm" and n_prompt + max_tokens > n_ctx:
        message = (
            f"This model's maximum context length is {n_ctx} tokens. However, your request has {n_prompt} "
            f"input tokens plus {max_tokens} 'max_tokens'. Please reduce one or the other."
        )
        raise Bad(error_body(400, message, "BadRequestError"))
