"""What the dispatcher is given: the rows it claims, what it loads, and where ends are recorded.

chat implements these (lifecycle.py, runner.py); inference knows no users and no messages.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from inference.answer import Claim, Piece, Work
from inference.core.fair import Entry
from inference.core.values import Chunk, ReplicaView


class RowsDown(Exception):
    """Postgres could not be reached or gave no answer; nothing is known to have changed. Try again."""


class Outcome(NamedTuple):
    """How an answer ended; `text` None leaves the message as it stands, `usage` has prompt and completion tokens."""

    state: str
    text: str | None
    tokens: int = 0
    finish_reason: str | None = None
    error_code: str | None = None
    usage: dict[str, int] | None = None


class Waiting(NamedTuple):
    """A row that belongs in a model's queue."""

    model: str
    entry: Entry


class Unclosed(NamedTuple):
    """A row that ended but whose log, slot and follow-up work were not closed."""

    pk: UUID
    model: str
    attempt: int
    owner: UUID | None
    outcome: Outcome
    length: int


class Swept(NamedTuple):
    """What a sweep found, each list for its own remedy."""

    requeue: list[Waiting]
    unclosed: list[Unclosed]
    overdue: list[UUID]
    expired: list[UUID]


class Rows(Protocol):
    """Statements on Generation and Dispatcher, each one guarded UPDATE. Every call may raise RowsDown."""

    async def register(self, owner: UUID) -> None:
        """Make the dispatcher's row, with a heartbeat of now."""

    async def leave(self, owner: UUID) -> None:
        """Delete the dispatcher's row: its answers are free at once."""

    async def heartbeat(self, owner: UUID) -> list[UUID]:
        """Renew the lease; answers of this owner that were asked to stop."""

    async def claim(self, pk: UUID, owner: UUID) -> Claim | None:
        """Take an answer that is queued, or whose owner is dead; None when it is not to be had."""

    async def reclaim(self, pk: UUID, attempt: int, owner: UUID, above: int) -> int | None:
        """A new attempt of what is still ours, above one seen in the log; None when it is not ours any more."""

    async def hand_back(self, pk: UUID, attempt: int, owner: UUID, *, failures: int) -> Waiting | None:
        """Queue it again for anyone; None when it was not ours any more."""

    async def sweep(self) -> Swept:
        """Everything that nobody looks after."""


class Load(Protocol):
    """Builds or recovers what a claim needs to run."""

    async def __call__(self, claim: Claim, owner: UUID, replica: ReplicaView | None) -> Work:
        """Assemble and freeze the request on a first attempt; later, take it and the text from log or checkpoints."""


class Transform(Protocol):
    """Wraps the engine's chunks on their way out (output moderation)."""

    def __call__(
        self, policy_version: str, visible: str, chunks: AsyncIterator[Chunk]
    ) -> AsyncGenerator[Chunk, None]:
        """Chunks that may be shown, given the text that is."""


class Sink(Protocol):
    """Records. Every call may raise RowsDown."""

    async def checkpoint(self, owner: UUID, pieces: Sequence[Piece]) -> set[UUID]:
        """Store pieces of answers that are still this owner's; the pks stored."""

    async def finish(self, pk: UUID, attempt: int, owner: UUID | None, outcome: Outcome) -> bool:
        """Make the row terminal, with message and ledger, in one transaction; False: not ours any more."""

    async def renew(self, reservations: Sequence[str]) -> None:
        """Keep what was set aside for answers that run, once a heartbeat."""

    async def close(self, pk: UUID, outcome: Outcome) -> list[Waiting]:
        """Settle, queue follow-up work, mark closed; answers that waited for this one. May run twice."""
