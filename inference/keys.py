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


def queue(model: str) -> str:
    """What the keys of a model's queue begin with (lua/fair.lua). No expiry: the sweep rebuilds it all from rows."""
    return f"{{q:{model}}}"


def queue_line(model: str, klass: str) -> str:
    """Hash of the pks that wait in a class: when they were queued, until when, for whom."""
    return f"{queue(model)}:line:{klass}"


def queue_clocks(model: str, klass: str) -> str:
    """Hash of virtual times: what each sharer, and each user within, has used up. Deleted when nobody waits."""
    return f"{queue(model)}:clocks:{klass}"


def queue_turns(model: str) -> str:
    """Hash of class to when (ms) it last had a turn, or began to wait for one."""
    return f"{queue(model)}:turns"


def queue_pace(model: str) -> str:
    """Hash last, ms: how fast slots come free while somebody waits. Expires after an hour without."""
    return f"{queue(model)}:pace"


def queue_slots(model: str, replica: str) -> str:
    """Sorted set of `pk:owner` by the server time (s) at which the slot expires unless renewed."""
    return f"{{q:{model}}}:slots:{replica}"


def queue_channel(model: str) -> str:
    """Channel that says that something was put or a slot came free."""
    return f"{{q:{model}}}:ch"
