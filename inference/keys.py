"""Every Valkey key and channel of inference, and how long each lives.

The braces are hash tags: all keys of one answer, or of one model's queue, live on one node.
"""

from uuid import UUID

# Running: the answer's hard limit + 1 h, set by `open`. After `done`: 600 s.
FINISHED_TTL_S = 600
GRACE_TTL_S = 3600


def log_hash(pk: UUID) -> str:
    """Hash a, o, n, done: the attempt, its owner, the last number, whether it ended."""
    return f"gen:{{{pk}}}"


def log_entries(pk: UUID) -> str:
    """Stream of entries `attempt-n` with fields v (sent to readers) and x (for servers only)."""
    return f"gen:{{{pk}}}:log"


def log_request(pk: UUID) -> str:
    """String: the frozen engine request."""
    return f"gen:{{{pk}}}:req"


def log_channel(pk: UUID) -> str:
    """Sharded channel: `attempt-n`, a space, v."""
    return f"gen:{{{pk}}}:ch"


def dispatcher_channel(owner: UUID) -> str:
    """Channel of one dispatcher: pks of answers asked to stop."""
    return f"disp:{owner}"


def queue_waiting(model: str) -> str:
    """Sorted set of pks by the time they were first queued (ms). No expiry: the sweep rebuilds it from rows."""
    return f"{{q:{model}}}:waiting"


def queue_slots(model: str, replica: str) -> str:
    """Sorted set of `pk:owner` by the server time (s) at which the slot expires unless renewed."""
    return f"{{q:{model}}}:slots:{replica}"


def queue_channel(model: str) -> str:
    """Channel that says that something was put or a slot came free."""
    return f"{{q:{model}}}:ch"
