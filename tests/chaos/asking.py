"""One answer from outside: asked for until accepted, watched by readers of both kinds, compared at its end.

A program's manners: a lost reply or a 5xx is asked again, with the same client id, at the other web process.
"""

import asyncio
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.chaos.counts import Counts
from tests.chaos.watching import LOST, MOST_BACKOFF_S, View, Watcher
from tests.engines.words import said

TIMEOUT = aiohttp.ClientTimeout(total=10)


@dataclass(frozen=True, slots=True)
class Front:
    """How a person reaches the product."""

    session: aiohttp.ClientSession
    urls: list[str]
    counts: Counts

    async def ask(self, token: str, method: str, path: str, **options: Any) -> Any:
        """The JSON of a call that succeeded at last."""
        turn = random.randrange(len(self.urls))
        while True:
            turn += 1
            try:
                answer = await self._try(self.urls[turn % len(self.urls)], token, method, path, **options)
            except LOST as error:
                self.counts.refusals[f"rest {type(error).__name__}"] += 1
            else:
                if answer is not None:
                    return answer
            await asyncio.sleep(MOST_BACKOFF_S / 4)

    async def _try(self, url: str, token: str, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        where = f"{url}/api/v1/{path}"
        async with self.session.request(method, where, headers=headers, timeout=TIMEOUT, **options) as answer:
            if answer.status < 300:
                return await answer.json()
            self.counts.refusals[f"rest {answer.status}"] += 1
            if answer.status < 500:
                self.counts.broken += 1
                self.counts.note(f"{method} {path}: {answer.status} {await answer.text()}")
            return None


class Answer:
    """Asked for, watched and judged by `run`."""

    def __init__(self, front: Front, token: str, text: str, tokens: int, kinds: Sequence[str]) -> None:
        self._front, self._token, self._text, self.tokens = front, token, text, tokens
        self._expected = said(text, tokens)
        self.asked_at = time.monotonic()
        self.generation: str | None = None
        self.views = [View(f"{kind} {text[:8]}", self._expected, front.counts) for kind in kinds]
        self.ended = False

    def moved_since(self, moment: float) -> bool:
        """Whether it ended, or every reader of it got text since then."""
        return self.ended or all(view.done or view.moved_at > moment for view in self.views)

    async def run(self) -> None:
        """To the end."""
        counts = self._front.counts
        body = {"client_id": str(uuid.uuid4()), "conversation": None, "parent": None, "text": self._text}
        turn = await self._front.ask(self._token, "POST", "turns", json=body)
        self.generation = turn["generation"]
        for view in self.views:
            view.name += f" {self.generation}"
        counts.answers += 1
        await asyncio.gather(*map(self._watch, self.views))
        await self._judge(turn)
        self.ended = True

    async def _watch(self, view: View) -> None:
        assert self.generation is not None
        front = self._front
        watcher = Watcher(front.session, front.urls, self._token, self.generation, view, front.counts)
        front.counts.readers += 1
        await (watcher.socket() if view.name.startswith("ws") else watcher.stream())

    async def _judge(self, turn: dict[str, Any]) -> None:
        counts = self._front.counts
        row = await self._front.ask(self._token, "GET", f"generations/{turn['generation']}")
        message = await self._front.ask(self._token, "GET", f"messages/{turn['answer']}")
        text = "".join(part["text"] for part in message["parts"])
        if row["state"] != "complete":
            counts.unfinished += 1
            counts.note(f"{self.generation}: {row['state']} {row['error_code']} after {len(text)} characters")
        elif text != self._expected:
            counts.lost_chars += max(0, len(self._expected) - len(text))
            counts.compare(text, self._expected, f"message of {self.generation}")
        for view in self.views:
            self._compare_end(view, row["state"], text)

    def _compare_end(self, view: View, state: str, text: str) -> None:
        """The reader has what the message has, or was told by the length that it must fetch it."""
        counts, done = self._front.counts, view.reader.done
        assert done is not None
        if done.state != state:
            counts.broken += 1
            counts.note(f"{view.name}: done says {done.state}, the row {state}")
        if view.reader.text == text or (view.reader.needs_fetch and done.length == len(text)):
            return
        counts.lost_chars += max(0, len(text) - len(view.reader.text))
        counts.compare(view.reader.text, text, f"{view.name} at its end")
