"""One reader of one answer, as a browser does it: comes back with back-off to either web process, after its last id.

At every moment its text must be a beginning of what the engine says.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable

import aiohttp

from inference.core.events import EntryId, Event, Snapshot, decode
from inference.core.reader import Action, Reader
from tests.chaos.counts import Counts

BACKOFF_S, MOST_BACKOFF_S = 0.1, 1.0
SILENT_S = 6.0
LOST = (aiohttp.ClientError, ConnectionError, OSError, TimeoutError)


class View:
    """What one reader has, checked with each event."""

    def __init__(self, name: str, expected: str, counts: Counts) -> None:
        self.name = name
        self.reader = Reader()
        self.moved_at = 0.0
        self._expected, self._counts = expected, counts
        self._wrong = False

    @property
    def done(self) -> bool:
        """Whether the end came."""
        return self.reader.done is not None

    @property
    def after(self) -> str | None:
        """The last id taken, for coming back."""
        return str(self.reader.last) if self.reader.last.n >= 0 else None

    def take(self, entry: str, event: Event, n_from: int | None) -> Action:
        """One event."""
        before = self.reader.text
        action = self.reader.take(EntryId.parse(entry), event, n_from)
        text = self.reader.text
        if len(text) < len(before):
            self._counts.rewound_chars += len(before) - len(text)
            self._counts.note(f"{self.name}: rewound from {len(before)} to {len(text)} at {entry}")
        self._counts.snapshots += isinstance(event, Snapshot) and action is Action.REPLACE
        if len(text) > len(before) or self.done:
            self.moved_at = time.monotonic()
        if not self._wrong and not self._expected.startswith(text):
            self._wrong = True
            self._counts.compare(text, self._expected, f"{self.name} at {entry}")
        return action


class Watcher:
    """Follows one answer to its end, by `socket` or by `stream`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        urls: list[str],
        token: str,
        generation: str,
        view: View,
        counts: Counts,
    ) -> None:
        self._session, self._urls = session, urls
        self._headers = {"Authorization": f"Bearer {token}"}
        self._generation, self.view, self._counts = generation, view, counts

    async def socket(self) -> None:
        """Over websockets."""
        await self._come_back(self._read_socket)

    async def stream(self) -> None:
        """Over event streams."""
        await self._come_back(self._read_stream)

    async def _come_back(self, read: Callable[[str], object]) -> None:
        pause_s, turn = BACKOFF_S, random.randrange(len(self._urls))
        while not self.view.done:
            last = self.view.after
            try:
                await read(self._urls[turn % len(self._urls)])
            except LOST as error:
                self._counts.refusals[f"{self.view.name.split()[0]} {type(error).__name__}"] += 1
            if self.view.done:
                return
            self._counts.reconnects += 1
            turn += 1
            pause_s = BACKOFF_S if self.view.after != last else min(2 * pause_s, MOST_BACKOFF_S)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))

    async def _read_socket(self, url: str) -> None:
        async with self._session.ws_connect(
            f"{url}/ws/v1/",
            headers=self._headers,
            max_msg_size=0,
            timeout=aiohttp.ClientWSTimeout(ws_close=1),
        ) as socket:
            while not self.view.done:
                message = await _receive(socket)
                if message["type"] == "hello":
                    await self._subscribe(socket)
                elif message["type"] == "event":
                    await self._take(socket, message)
                elif message["type"] == "error":
                    self._counts.refusals[f"ws {message['code']}"] += 1
                    await asyncio.sleep(MOST_BACKOFF_S)
                    await self._subscribe(socket)

    async def _subscribe(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await socket.send_json(
            {"type": "subscribe", "generation": self._generation, "after": self.view.after}
        )

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, message: dict) -> None:
        event = decode(json.dumps(message["event"]))
        await socket.send_json({"type": "ack", "seq": message["seq"]})
        if self.view.take(message["id"], event, message.get("from")) is Action.GAP:
            await self._subscribe(socket)

    async def _read_stream(self, url: str) -> None:
        headers = self._headers | ({"Last-Event-ID": self.view.after} if self.view.after else {})
        path = f"{url}/api/v1/generations/{self._generation}/events"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=20)
        async with self._session.get(path, headers=headers, timeout=timeout) as answer:
            if answer.status != 200:
                self._counts.refusals[f"sse {answer.status}"] += 1
                return
            fields: dict[str, str] = {}
            async for raw in answer.content:
                name, _, value = raw.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                    continue
                if "id" in fields and self._take_streamed(fields) is Action.GAP:
                    return
                fields = {}

    def _take_streamed(self, fields: dict[str, str]) -> Action:
        data = json.loads(fields["data"])
        n_from = data.pop("from", None)
        return self.view.take(fields["id"], decode(json.dumps(data)), n_from)


async def _receive(socket: aiohttp.ClientWebSocketResponse) -> dict:
    """The next message; a silent socket is asked for a sign, and given up without one."""
    try:
        message = await socket.receive(timeout=SILENT_S)
    except TimeoutError:
        await socket.send_json({"type": "ping"})
        message = await socket.receive(timeout=SILENT_S)
    if message.type is not aiohttp.WSMsgType.TEXT:
        raise ConnectionError(socket.close_code)
    return dict(json.loads(message.data))
