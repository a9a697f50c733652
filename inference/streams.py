"""The log of an answer in Valkey: open, append, finish, read. Fenced by attempt and owner (protocol 3).

Valkey carries it, Postgres decides: nothing here may be needed to be right. No users and no rows in here.
"""

from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from inference import keys
from inference.core.events import EntryId

LUA = Path(__file__).parent / "lua"
READ_COUNT = 500

# What Valkey's absence looks like from here; each caller goes on without it.
ValkeyDown = (RedisError, OSError, TimeoutError)


class Entry(NamedTuple):
    """One entry of a log: `v` goes to readers as it is, `x` never leaves the servers."""

    id: EntryId
    v: bytes
    x: bytes = b""


class Answered(NamedTuple):
    """What a log script answered: a word, and a number (see the scripts)."""

    word: str
    number: int


class State(NamedTuple):
    """A log as read: `first` of the entries asked for may be later than wanted; `exists` is false when it is gone."""

    exists: bool
    last: EntryId | None
    entries: list[Entry]
    done: bool = False


class _Script:
    def __init__(self, name: str) -> None:
        self.text = (LUA / f"{name}.lua").read_text()
        self.sha = sha1(self.text.encode(), usedforsecurity=False).hexdigest()


OPEN, APPEND, FINISH = _Script("open"), _Script("append"), _Script("finish")


class Log:
    """All answers' logs behind one client."""

    def __init__(self, valkey: Redis) -> None:
        self._valkey = valkey

    async def open(
        self,
        pk: UUID,
        attempt: int,
        owner: UUID,
        v: bytes,
        x: bytes,
        request: bytes,
        ttl_s: int,
        stands_on: EntryId | None = None,
    ) -> Answered:
        """Begin an attempt, whose text so far ends with the log's entry `stands_on`; None if v has it all.

        Raises ValkeyDown's errors; sending it again is `dup`.
        """
        log_keys = [keys.log_hash(pk), keys.log_entries(pk), keys.log_request(pk), keys.log_channel(pk)]
        return _answered(
            await self._run(OPEN, log_keys, [attempt, str(owner), v, x, request, ttl_s, str(stands_on or "")])
        )

    async def append(self, batches: Sequence["Batch"]) -> list[Answered | None]:
        """Add each batch to its log, in one round trip; None for a batch without an answer."""
        pipe = self._valkey.pipeline(transaction=False)
        for batch in batches:
            pipe.evalsha(APPEND.sha, 3, *batch.arguments())
        answers = await pipe.execute(raise_on_error=False)
        if any(isinstance(answer, NoScriptError) for answer in answers):
            await self._valkey.script_load(APPEND.text)
            return await self.append(batches)
        return [None if isinstance(answer, Exception) else _answered(answer) for answer in answers]

    async def finish(
        self, pk: UUID, attempt: int, owner: UUID | None, number: int | None, v: bytes, *, purge: bool = False
    ) -> Answered:
        """Write `done`. Only after the row is terminal; `number` None takes any place in the log."""
        log_keys = [keys.log_hash(pk), keys.log_entries(pk), keys.log_request(pk), keys.log_channel(pk)]
        arguments = [
            attempt,
            str(owner or ""),
            "" if number is None else number,
            v,
            "1" if purge else "0",
            keys.FINISHED_TTL_S,
        ]
        return _answered(await self._run(FINISH, log_keys, arguments))

    async def read(self, pk: UUID, after: EntryId, count: int | None = READ_COUNT) -> State:
        """Entries after an id, at most `count`, and where the log stands; one round trip."""
        pipe = self._valkey.pipeline(transaction=False)
        pipe.hmget(keys.log_hash(pk), "a", "n", "done")
        pipe.xrange(keys.log_entries(pk), min=f"({after}" if after.n >= 0 else "-", count=count)
        (attempt, number, done), raw = await pipe.execute()
        if attempt is None:
            return State(exists=False, last=None, entries=[])
        entries = [
            Entry(EntryId.parse(id.decode()), fields[b"v"], fields.get(b"x", b"")) for id, fields in raw
        ]
        return State(True, EntryId(int(attempt), int(number)), entries, done is not None)

    async def heads(self, pks: Sequence[UUID]) -> list[EntryId | None]:
        """Where each log stands, None where it is gone; one round trip for all."""
        pipe = self._valkey.pipeline(transaction=False)
        for pk in pks:
            pipe.hmget(keys.log_hash(pk), "a", "n")
        return [EntryId(int(a), int(n)) if a else None for a, n in await pipe.execute()]

    async def request(self, pk: UUID) -> bytes | None:
        """The frozen request, None when the log is gone."""
        raw = await self._valkey.get(keys.log_request(pk))
        return raw.encode() if isinstance(raw, str) else raw

    async def _run(self, script: _Script, script_keys: list[str], arguments: list[Any]) -> list[Any]:
        count = len(script_keys)
        try:
            answer: list[Any] = await self._valkey.evalsha(script.sha, count, *script_keys, *arguments)
        except NoScriptError:
            answer = await self._valkey.eval(script.text, count, *script_keys, *arguments)
        return answer


class Batch(NamedTuple):
    """Entries n_from.. of one attempt, to be appended all or none."""

    pk: UUID
    attempt: int
    owner: UUID
    n_from: int
    entries: Sequence[tuple[bytes, bytes]]

    @property
    def n_to(self) -> int:
        """The number of its last entry."""
        return self.n_from + len(self.entries) - 1

    def arguments(self) -> list[Any]:
        """Keys and arguments of append.lua."""
        flat = [part for entry in self.entries for part in entry]
        pk = self.pk
        log_keys = [keys.log_hash(pk), keys.log_entries(pk), keys.log_channel(pk)]
        return [*log_keys, self.attempt, str(self.owner), self.n_from, *flat]


def _answered(raw: list[Any]) -> Answered:
    return Answered(raw[0].decode(), int(raw[1]))
