"""Who is next for a model, and the slots of its replicas (protocol 5). Order of arrival.

All of it may be lost: the sweep puts it back from rows. One class for both kinds of client: with a sync
client (the web) a call returns its value, with an async one (the dispatcher) an awaitable of it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from inference import keys

LUA = Path(__file__).parent / "lua"
CLAIM = (LUA / "claim.lua").read_text()
RENEW = (LUA / "renew.lua").read_text()

# A slot outlives its dispatcher's lease by far, so that a paused one is not overbooked at once (protocol 5).
SLOT_TTL_S = 10


class Queue:
    """The waiting line and the slots of one model."""

    def __init__(self, valkey: Any, model: str) -> None:
        self._valkey = valkey
        self._model = model

    def put(self, pk: UUID, enqueued_at_ms: int) -> Any:
        """Queue an answer and wake the dispatchers; put twice it keeps its first place."""
        pipe = self._valkey.pipeline(transaction=False)
        pipe.zadd(keys.queue_waiting(self._model), {str(pk): enqueued_at_ms}, nx=True)
        pipe.publish(keys.queue_channel(self._model), "put")
        return pipe.execute()

    def claim(self, replica: str, owner: UUID, limit: int) -> Any:
        """The pk (bytes) of the head, with a slot `pk:owner` on the replica; None if none or no slot is free."""
        slots = keys.queue_slots(self._model, replica)
        return self._valkey.eval(
            CLAIM, 2, keys.queue_waiting(self._model), slots, str(owner), limit, SLOT_TTL_S
        )

    def release(self, pk: UUID, owner: UUID, replica: str) -> Any:
        """Give an owner's slot back and wake the dispatchers; a slot of another owner stays."""
        pipe = self._valkey.pipeline(transaction=False)
        pipe.zrem(keys.queue_slots(self._model, replica), f"{pk}:{owner}")
        pipe.publish(keys.queue_channel(self._model), "free")
        return pipe.execute()

    def renew(self, replica: str, owner: UUID, pks: Sequence[UUID]) -> Any:
        """Keep an owner's slots for another SLOT_TTL_S."""
        members = [f"{pk}:{owner}" for pk in pks]
        return self._valkey.eval(RENEW, 1, keys.queue_slots(self._model, replica), SLOT_TTL_S, *members)

    def place(self, pk: UUID) -> Any:
        """How many are before it (0 is next), None when it does not wait."""
        return self._valkey.zrank(keys.queue_waiting(self._model), str(pk))
