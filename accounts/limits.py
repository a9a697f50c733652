"""How much one may ask: reserve before, renew while it runs, settle after (protocol 7).

Every call allows everything until limits are set; callers are already in the places where they will say no.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was set aside for one turn; reserving the same (user, client_id) twice is once."""

    user_pk: UUID
    client_id: str

    @property
    def name(self) -> str:
        """As `renew` and `settle` know it in other processes."""
        return reservation_name(self.user_pk, self.client_id)


def reservation_name(user_pk: UUID, client_id: str) -> str:
    """One name a turn, the same for every retry of it."""
    return f"{user_pk}:{client_id}"


def reserve(user_pk: UUID, client_id: str, *, model: str, tokens: int) -> Reservation:
    """Set aside one request of about `tokens`; it lives for the class deadline + 60 s unless renewed."""
    return Reservation(user_pk, client_id)


def renew(reservations: Sequence[str]) -> None:
    """Keep reservations, by name, while their answers are queued or run."""


def release(reservation: Reservation) -> None:
    """Give it back unused: the turn was refused after it."""


def settle(reservation: str, *, prompt_tokens: int, completion_tokens: int) -> None:
    """Replace the estimate by what was used. Twice is once."""
