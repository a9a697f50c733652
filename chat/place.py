"""Where an answer waits. Asked for when somebody looks: unnumbered, unlogged, and unknown while Valkey is away."""

import structlog
from redis.exceptions import RedisError

from chat.models import Generation
from inference import valkey
from inference.queue import Queue

logger = structlog.get_logger(__name__)


def of(generation: Generation) -> int | None:
    """How many answers are before this one, 0 is next; None when it does not wait in the queue."""
    if generation.state != Generation.State.QUEUED:
        return None
    try:
        place: int | None = Queue(valkey.shared(), generation.model).place(generation.pk)
    except (RedisError, OSError) as error:
        logger.warning("place_unknown", error=type(error).__name__)
        return None
    return place
