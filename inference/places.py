"""Places in the queue for everybody who watches in one process: one look a model and second, however many ask."""

import asyncio
import time
from collections import defaultdict
from typing import Any
from uuid import UUID

from inference.queue import Place, Queue, read_places

FRESH_S = 0.9


class Places:
    """Belongs to one event loop."""

    def __init__(self, valkey: Any) -> None:
        self._valkey = valkey
        self._known: dict[str, tuple[float, dict[UUID, Place]]] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, model: str, pk: UUID) -> Place | None:
        """Where an answer stands, as of the last second; None when it does not wait."""
        async with self._locks[model]:
            seen_at, places = self._known.get(model, (0.0, {}))
            if time.monotonic() - seen_at > FRESH_S:
                places = read_places(await Queue(self._valkey, model).view())
                self._known[model] = time.monotonic(), places
        return places.get(pk)
