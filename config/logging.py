"""structlog: one JSON object a line, with request and generation ids and never a message's text."""

from typing import Any

import structlog

PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


def configuration(level: str) -> dict[str, Any]:
    """A `logging.config` dictionary; sets structlog up on the way."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *PROCESSORS,
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processor": structlog.processors.JSONRenderer(),
                "foreign_pre_chain": [*PROCESSORS, structlog.processors.format_exc_info],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Its lines on refusals have the path, which can hold a key; RequestLog has one for each, without.
            "django.request": {"level": "ERROR"},
            **{
                name: {"level": "WARNING"}
                for name in ("daphne", "aioredis", "channels_redis", "asyncio", "urllib3")
            },
        },
    }
