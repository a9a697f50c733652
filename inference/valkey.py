"""Connections to Valkey: one shared sync client for the web's small calls, an async one for each loop."""

from functools import cache
from typing import Any

import redis
import redis.asyncio
from django.conf import settings
from redis.maint_notifications import MaintNotificationsConfig

TIMEOUT_S = 2.0
OPTIONS: dict[str, Any] = {
    # Else each new connection reads the driver's version from the disk to tell it the server: milliseconds of CPU.
    "driver_info": None,
    # While it may be on, the pool hands out connections that the server has closed: after a restart of Valkey each of
    # them would fail once, whenever it is used next.
    "maint_notifications_config": MaintNotificationsConfig(enabled=False),
}


@cache
def shared() -> Any:
    """This process's sync client; thread-safe. A call fails within TIMEOUT_S when Valkey is away."""
    return redis.Redis.from_url(
        settings.VALKEY_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S / 4, **OPTIONS
    )


def connect() -> redis.asyncio.Redis:
    """A client of its own for the running loop; close it there."""
    return redis.asyncio.Redis.from_url(
        settings.VALKEY_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S / 4, **OPTIONS
    )


def subscriber() -> redis.asyncio.Redis:
    """A client for subscriptions: silence on it is no fault, so it has no read time-out."""
    return redis.asyncio.Redis.from_url(
        settings.VALKEY_URL,
        socket_timeout=None,
        socket_connect_timeout=TIMEOUT_S / 4,
        health_check_interval=5,
        **OPTIONS,
    )
