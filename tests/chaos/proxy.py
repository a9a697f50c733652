"""A TCP proxy that stands before one dependency of one process, and can fail: pass, refuse, stall, cut.

Bytes only: it knows nothing of what they mean.
"""

import asyncio
from contextlib import suppress
from typing import Literal

Fault = Literal["refuse", "stall", "cut"]
_BLOCK_BYTES = 65_536


class Proxy:
    """Listens on `port` for what goes to `target`; `port` stays the same while it refuses."""

    def __init__(self, port: int, target: int) -> None:
        self.port, self._target = port, target
        self._server: asyncio.Server | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._join, "127.0.0.1", self.port)

    async def close(self) -> None:
        """End it with every connection through it."""
        self._stop_listening()
        self._abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def fail(self, fault: Fault) -> None:
        """`refuse` ends all connections and takes no new one, `stall` lets no byte pass, `cut` ends all once."""
        if fault == "stall":
            return self._flows.clear()
        if fault == "refuse":
            self._stop_listening()
        self._abort()

    async def heal(self) -> None:
        """Pass; what was stalled arrives now."""
        self._flows.set()
        if self._server is None:
            await self.start()

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._flows.wait()
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return self._writers.discard(writer)
        self._writers.add(there_writer)
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while block := await source.read(_BLOCK_BYTES):
                await self._flows.wait()
                sink.write(block)
                await sink.drain()
        await self._flows.wait()
        sink.close()
        self._writers.discard(sink)
