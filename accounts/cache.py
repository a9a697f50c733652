"""Django's cache on Valkey, which may be lost: then each process keeps its own, and people still sign in.

What is in it (counts of failed log-ins) may be forgotten; nothing that must be right comes in.
"""

from collections.abc import Callable
from typing import Any

import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = structlog.get_logger(__name__)


class LoseableCache(BaseCache):
    """The shared cache while it answers, the process's own while it does not."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._shared = RedisCache(server, params)
        self._own = LocMemCache("loseable", {**params, "OPTIONS": {}})

    def _try(self, call: Callable[[BaseCache], Any]) -> Any:
        try:
            return call(self._shared)
        except RedisError as error:
            logger.warning("cache_lost", error=type(error).__name__)
            return call(self._own)

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """As Django's."""
        return bool(self._try(lambda cache: cache.add(key, value, timeout, version)))

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """As Django's."""
        return self._try(lambda cache: cache.get(key, default, version))

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """As Django's."""
        self._try(lambda cache: cache.set(key, value, timeout, version))

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """As Django's."""
        return bool(self._try(lambda cache: cache.touch(key, timeout, version)))

    def delete(self, key: str, version: int | None = None) -> bool:
        """As Django's."""
        return bool(self._try(lambda cache: cache.delete(key, version)))

    def clear(self) -> None:
        """Forgets the process's own part only: Valkey holds more than a cache."""
        self._own.clear()
