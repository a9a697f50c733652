"""Where an answer waits. Asked for when somebody looks: unnumbered, unlogged, and unknown while Valkey is away."""

import structlog
from redis.exceptions import RedisError

from chat.models import Generation
from inference import valkey
from inference.queue import Place, Queue, read_places

logger = structlog.get_logger(__name__)


def of(generation: Generation) -> Place | None:
    """Where an answer stands and how long it will wait; None when it does not wait in the queue."""
    if generation.state != Generation.State.QUEUED:
        return None
    try:
        raw = Queue(valkey.shared(), generation.model).view()
    except (RedisError, OSError) as error:
        logger.warning("place_unknown", error=type(error).__name__)
        return None
    return read_places(raw).get(generation.pk)
