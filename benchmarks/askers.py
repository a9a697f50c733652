"""The two clients that are compared: a person's socket on the product, and a plain client of the engine.

Both are state machines in their connection's callback: no task, no queue and no await per token.
"""

import asyncio
import time
import uuid
from typing import Any, Protocol, cast

import msgspec

from benchmarks.answers import Answer
from benchmarks.websocket import WebSocket
from inference.core.events import Delta, Done, EntryId, Open, Snapshot
from inference.core.reader import Action, Reader

ACK_EVERY = 32
# A new conversation after so many turns: histories are real, and as long in the last second as in the first.
TURNS_A_CONVERSATION = 5
MAX_TOKENS = 512
WAIT_S = 60.0


class Asker(Protocol):
    """Somebody who asks one question at a time."""

    async def connect(self) -> None:
        """Be ready to ask."""

    async def ask(self, question: str) -> Answer:
        """The whole answer, or what came of it."""

    def close(self) -> None:
        """Hang up."""


class _Frame(msgspec.Struct):
    type: str
    generation: str = ""
    conversation: str = ""
    answer: str = ""
    code: str = ""
    id: str = ""
    n_from: int | None = msgspec.field(default=None, name="from")
    seq: int = 0
    event: Open | Snapshot | Delta | Done | None = None


_frames = msgspec.json.Decoder(_Frame)


class Person:
    """One person with one socket: each question goes into their conversation."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = WebSocket(port, token, self._take, self._lost)
        self._ready: asyncio.Future[None] | None = None
        self._done: asyncio.Future[None] | None = None
        self._answer = Answer("", 0.0)
        self._reader = Reader()
        self._conversation: str | None = None
        self._leaf: str | None = None
        self._turns = 0
        self._generation = ""

    async def connect(self) -> None:
        """Connected and greeted."""
        self._ready = asyncio.get_running_loop().create_future()
        await self._socket.connect()
        await asyncio.wait_for(self._ready, WAIT_S)

    async def ask(self, question: str) -> Answer:
        """Send, and read to the end."""
        if self._turns % TURNS_A_CONVERSATION == 0:
            self._conversation = self._leaf = None
        self._turns += 1
        self._reader, self._generation = Reader(), ""
        self._done = asyncio.get_running_loop().create_future()
        place = {"conversation": self._conversation, "parent": self._leaf}
        frame = {"type": "send", "client_id": str(uuid.uuid4()), "text": question, **place}
        self._answer = answer = Answer(question, time.perf_counter())
        self._tell(frame)
        try:
            await asyncio.wait_for(self._done, WAIT_S)
        except TimeoutError:
            answer.state = "timed out"
        answer.text = self._reader.text
        return answer

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _take(self, payload: bytes, at: float) -> None:
        frame = _frames.decode(payload)
        match frame.type:
            case "event":
                self._event(frame, at)
            case "accepted":
                self._generation = frame.generation
                self._conversation, self._leaf = frame.conversation, frame.answer
            case "hello" if self._ready is not None:
                self._ready.set_result(None)
            case "refused" | "error":
                self._end(frame.code)

    def _event(self, frame: _Frame, at: float) -> None:
        event = frame.event
        assert event is not None
        if frame.seq % ACK_EVERY == 0:
            self._tell({"type": "ack", "seq": frame.seq})
        if frame.generation != self._generation:
            return
        action = self._reader.take(EntryId.parse(frame.id), event, frame.n_from)
        if action is Action.GAP:
            self._answer.repairs += 1
            after = str(self._reader.last)
            self._tell({"type": "subscribe", "generation": self._generation, "after": after})
        elif isinstance(event, Delta) and action is Action.ADD:
            self._answer.arrived(at, event.text)
        elif isinstance(event, Done):
            self._end(event.state)

    def _end(self, state: str) -> None:
        if self._done is not None and not self._done.done():
            self._answer.state = state
            self._done.set_result(None)

    def _lost(self, reason: str) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(ConnectionError(reason))
        self._end(reason)

    def _tell(self, message: dict[str, Any]) -> None:
        self._socket.send(msgspec.json.encode(message))


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Message | None = None
    finish_reason: str | None = None


class _Event(msgspec.Struct):
    choices: list[_Choice] = []


_events = msgspec.json.Decoder(_Event)


class Direct(asyncio.Protocol):
    """A client of the engine itself, on one kept connection; asks what the product asks, histories too."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._transport: asyncio.Transport | None = None
        self._done: asyncio.Future[None] | None = None
        self._answer = Answer("", 0.0)
        self._texts: list[str] = []
        self._messages: list[dict[str, str]] = []
        self._turns = 0
        self._buffer = b""

    async def connect(self) -> None:
        """Connected."""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._port)

    async def ask(self, question: str) -> Answer:
        """Post, and read to `[DONE]`."""
        if self._turns % TURNS_A_CONVERSATION == 0:
            self._messages = []
        self._turns += 1
        self._messages.append({"role": "user", "content": question})
        self._texts, self._buffer = [], b""
        self._done = asyncio.get_running_loop().create_future()
        request = self._request()
        self._answer = answer = Answer(question, time.perf_counter())
        assert self._transport is not None
        self._transport.write(request)
        try:
            await asyncio.wait_for(self._done, WAIT_S)
        except TimeoutError:
            answer.state = "timed out"
        answer.text = "".join(self._texts)
        self._messages.append({"role": "assistant", "content": answer.text})
        return answer

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        """Events end in a blank line; what stands before `data: ` is HTTP's, since no event is split in chunks."""
        at = time.perf_counter()
        *events, self._buffer = (self._buffer + data).split(b"\n\n")
        for event in events:
            self._event(event.partition(b"data: ")[2], at)

    def connection_lost(self, error: Exception | None) -> None:
        """Whoever waits is told."""
        self._end(str(error or "the connection was closed"))

    def _event(self, data: bytes, at: float) -> None:
        if data == b"[DONE]":
            return self._end(self._answer.state)
        for choice in _events.decode(data).choices:
            if choice.delta is not None and choice.delta.content:
                self._texts.append(choice.delta.content)
                self._answer.arrived(at, choice.delta.content)
            if choice.finish_reason is not None:
                self._answer.state = "complete"

    def _end(self, state: str) -> None:
        if self._done is not None and not self._done.done():
            self._answer.state = state
            self._done.set_result(None)

    def _request(self) -> bytes:
        # The fields that the dispatcher sends, so that the engine does the same work for both.
        options = {"include_usage": True, "continuous_usage_stats": True}
        body = {"model": "fake", "messages": self._messages, "max_tokens": MAX_TOKENS, "temperature": 0.0}
        body |= {"top_p": 1.0, "stream": True, "stream_options": options, "return_token_ids": True}
        encoded = msgspec.json.encode(body)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(encoded)}\r\n\r\n"
        return head.encode() + encoded
