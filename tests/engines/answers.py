"""Streams one answer of the fake engine: units at their pace, in the forms and with the faults of the plan.

Which call gets which plan is decided elsewhere.
"""

import asyncio
import os
import time
from collections.abc import Iterator

import msgspec
from aiohttp import web

from tests.engines import words
from tests.engines.machine import Job, Record
from tests.engines.plan import Plan


class Ended(Exception):
    """A fault has ended this answer; the name is in the record."""


class Answer:
    """One answer on its way."""

    def __init__(self, response: web.StreamResponse, job: Job, plan: Plan, record: Record) -> None:
        self._response, self._job, self._plan, self._record = response, job, plan, record
        self._faults: dict[int, str] = {}
        self._gives_usage = job.gives_usage and plan.usage
        self._text_field = b'"delta":{"content":' if job.in_chat else b'"text":'
        self._text_end = b"}" if job.in_chat else b""

    async def send(self, *, faulty: bool) -> None:
        """The whole answer; raises Ended where a fault ended it."""
        plan, job = self._plan, self._job
        self._faults = plan.faults if faulty else {}
        loop = asyncio.get_running_loop()
        due = loop.time() + plan.first_ms / 1000
        finish = "stop"
        for position, unit in enumerate(self._units()):
            ids = words.encode(unit)
            await asyncio.sleep(max(0.0, due - loop.time()))
            if position in self._faults:
                await self._fault(self._faults[position])
            if self._record.tokens + len(ids) > job.max_tokens:
                finish = "length"
                break
            due = max(due + plan.gap_ms / 1000, loop.time() - 0.25)
            await self._unit(position, unit, ids)
        if (at_end := self._faults.get(plan.tokens)) is not None:
            await self._fault(at_end)
        await self._end("length" if self._record.tokens == job.max_tokens else finish)

    def _units(self) -> Iterator[str]:
        """What is left of the answer; its first piece may be the rest of a unit."""
        plan, left = self._plan, self._job.begun
        seed = words.seed_of(self._job.user) if plan.seeded else ""
        whole = words.scripted(plan.script) if plan.script else None
        for unit in whole or words.units(plan.tokens, seed, plan.crab_every):
            if not left:
                yield unit
            elif left.startswith(unit):
                left = left[len(unit) :]
            elif unit.startswith(left):
                rest, left = unit[len(left) :], ""
                yield rest
            else:
                self._record.mismatch, left = True, ""
                yield unit

    async def _unit(self, position: int, unit: str, ids: list[int]) -> None:
        if self._record.first_token is None:
            self._record.first_token = time.monotonic()
            await self._event(
                b'"delta":{"role":"assistant","content":""}' if self._job.in_chat else b'"text":""'
            )
        if self._plan.empty_deltas:
            await self._delta(b'""', [])
        if position == self._plan.bad_line_at:
            await self._write(b'data: {"choices": [{"delta": {"content": "br\n\n')
        if position == self._plan.nul_at:
            unit += "\0"
        if len(ids) > 1 and self._plan.split:
            first, last = _halves(unit, self._plan.split)
            await self._delta(first, ids[:1])
            await self._delta(last, ids[1:])
        else:
            await self._delta(msgspec.json.encode(unit), ids)

    async def _delta(self, text: bytes, ids: list[int]) -> None:
        self._record.tokens += len(ids)
        await self._event(self._text_field + text + self._text_end, ids)

    async def _event(self, content: bytes, ids: list[int] | None = None, finish: str | None = None) -> None:
        job = self._job
        choice = b'{"index":0,' + content + b',"finish_reason":' + msgspec.json.encode(finish)
        if job.gives_ids and ids is not None:
            choice += b',"token_ids":' + msgspec.json.encode(ids)
        rest = b""
        if self._gives_usage and (job.gives_usage_always or (finish and not job.usage_apart)):
            rest += self._usage()
        if job.gives_timings and ids:
            rest += b',"timings":{"predicted_n":%d}' % self._record.tokens
        if job.gives_ids and self._record.tokens == 0 and self._job.prompt_ids:
            rest += b',"prompt_token_ids":' + msgspec.json.encode(job.prompt_ids)
        await self._data(
            b'{"id":"fake","object":"chunk","created":0,"choices":[' + choice + b"}]" + rest + b"}"
        )

    def _usage(self) -> bytes:
        prompt, completion = self._job.prompt_tokens, self._record.tokens
        total = prompt + completion
        return b',"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (
            prompt,
            completion,
            total,
        )

    async def _end(self, finish: str) -> None:
        await self._event(b'"delta":{}' if self._job.in_chat else b'"text":""', None, finish)
        if self._gives_usage and self._job.usage_apart:
            await self._data(b'{"id":"fake","choices":[]' + self._usage() + b"}")
        if self._plan.done:
            await self._data(b"[DONE]")

    async def _fault(self, name: str) -> None:
        """What ends the answer is in the record before it is on the wire."""
        if name == "stall":
            await asyncio.sleep(self._plan.stall_s or 1e6)
            return
        self._record.ended = name
        match name:
            case "die":
                os._exit(9)
            case "cut":
                _cut(self._response)
            case "error":
                await self._data(b'{"error":{"message":"it broke","type":"InternalServerError","code":500}}')
                await self._data(b"[DONE]")
            case "abort" | "odd":
                await self._end("abort" if name == "abort" else "because")
        raise Ended

    async def _data(self, data: bytes) -> None:
        plan = self._plan
        if plan.multiline and (comma := data.find(b',"')) > 0:
            data = data[: comma + 1] + b"\ndata: " + data[comma + 1 :]
        block = b"data: " + data + b"\n\n"
        if plan.comments:
            block = b": still here\nevent: message\nid: 1\n" + block
        await self._write(block.replace(b"\n", b"\r\n") if plan.crlf else block)

    async def _write(self, block: bytes) -> None:
        if not self._plan.bytewise:
            await self._response.write(block)
            return
        for at in range(len(block)):
            await self._response.write(block[at : at + 1])
            await asyncio.sleep(0)


def _halves(unit: str, split: str) -> tuple[bytes, bytes]:
    """JSON strings of an astral character's two parts, as engines have sent them."""
    if split == "empty":
        return b'""', msgspec.json.encode(unit)
    if split == "surrogates":
        pairs = unit.strip().encode("utf-16-be").hex()
        return f'" \\u{pairs[:4]}"'.encode(), f'"\\u{pairs[4:]}"'.encode()
    raw = unit.encode()
    return b'"' + raw[:3] + b'"', b'"' + raw[3:] + b'"'


def _cut(response: web.StreamResponse) -> None:
    request = response._req
    if request is not None and request.transport is not None:
        request.transport.abort()
