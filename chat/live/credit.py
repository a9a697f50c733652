"""How much a socket may be sent before its client acknowledges: a slow reader costs bounded memory (protocol 6)."""

import asyncio
from collections import deque

CREDIT_EVENTS = 256
CREDIT_BYTES = 128 * 1024


class Credit:
    """One socket's: `spend` waits while too much is un-acknowledged, `acknowledge` frees it."""

    def __init__(self, events: int = CREDIT_EVENTS, size: int = CREDIT_BYTES) -> None:
        self._events, self._size = events, size
        self._sent: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self._seq = 0
        self._room = asyncio.Event()
        self._room.set()

    async def room(self) -> None:
        """Wait until something may be sent."""
        await self._room.wait()

    def spend(self, size: int) -> int:
        """The `seq` of an event that is sent now."""
        self._seq += 1
        self._sent.append((self._seq, size))
        self._bytes += size
        if len(self._sent) >= self._events or self._bytes >= self._size:
            self._room.clear()
        return self._seq

    def acknowledge(self, seq: int) -> None:
        """Everything up to `seq` was taken."""
        while self._sent and self._sent[0][0] <= seq:
            self._bytes -= self._sent.popleft()[1]
        if len(self._sent) < self._events and self._bytes < self._size:
            self._room.set()
