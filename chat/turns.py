"""READ THIS FIRST. What a person does: send, edit, regenerate, continue, stop. The one path of every surface.

Order (protocol 7): known client id, reserve, moderate, admit, write, queue. No HTTP and no socket in here.
"""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """What was begun: keys of the rows, for whoever watches."""

    conversation: uuid.UUID
    message: uuid.UUID | None
    answer: uuid.UUID
    generation: uuid.UUID
    state: str


def begin(
    user_pk: uuid.UUID,
    *,
    client_id: str,
    conversation: uuid.UUID | None,
    parent: uuid.UUID | None,
    text: str,
    model: str | None = None,
    priority: str = "interactive",
) -> Turn:
    """Send a message and queue its answer, or return what this client id began before.

    Raises NotFound, Invalid, AnswerRunning, ClientIdReused, Overloaded.
    """
    raise NotImplementedError


def edit(
    user_pk: uuid.UUID, *, client_id: str, message: uuid.UUID, text: str, model: str | None = None
) -> Turn:
    """A sibling of a user message, with an answer of its own."""
    raise NotImplementedError


def regenerate(user_pk: uuid.UUID, *, client_id: str, message: uuid.UUID, model: str | None = None) -> Turn:
    """A sibling of an assistant message."""
    raise NotImplementedError


def resume(user_pk: uuid.UUID, *, client_id: str, message: uuid.UUID) -> Turn:
    """A new generation of the same assistant message, from the text that stands. Raises NotResumable."""
    raise NotImplementedError


def stop(user_pk: uuid.UUID, generation: uuid.UUID) -> str:
    """Ask an answer to stop; returns the state it has now. Idempotent; text released before stays."""
    raise NotImplementedError
