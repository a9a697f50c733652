"""Small events to a person's open sockets: something changed, fetch it. Lost ones are found by fetching.

An answer's text never goes through here.
"""

import uuid
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

logger = structlog.get_logger(__name__)


def group(user_pk: uuid.UUID) -> str:
    """The group that every socket of a person joins."""
    return f"user.{user_pk.hex}"


async def conversation_changed(user_pk: uuid.UUID, conversation: uuid.UUID) -> None:
    """Something in it changed: every socket of this person may fetch it."""
    await _send(user_pk, {"type": "conversation.changed", "conversation": str(conversation)})


def tell_conversation_changed(user_pk: uuid.UUID, conversation: uuid.UUID) -> None:
    """The same from sync code."""
    async_to_sync(conversation_changed)(user_pk, conversation)


def tell_sessions_ended(sender: object, user_pk: uuid.UUID, **more: Any) -> None:
    """Receives `accounts.signals.sessions_ended`: every socket of this person asks at once whether it may stay."""
    async_to_sync(_send)(user_pk, {"type": "sessions.ended"})


async def _send(user_pk: uuid.UUID, event: dict[str, Any]) -> None:
    """Never raises when Valkey is away."""
    try:
        await get_channel_layer().group_send(group(user_pk), event)
    except (RedisError, OSError) as error:
        logger.warning("notice_lost", error=type(error).__name__)
