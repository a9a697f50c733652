"""Deploy checks where Django has none: `manage.py check --deploy` names the variable to set.

What must never happen is refused by settings.py at the start; here is what only a deployment can judge.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@register(Tags.security, deploy=True)
def deployment(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """Every finding of this module."""
    return [Warning(text, id=f"parley.W{number:03}") for number, text in _findings()]


def _findings() -> Iterator[tuple[int, str]]:
    if settings.DEVELOPMENT:
        yield 1, "PARLEY_ENV is development: set PARLEY_ENV=production."
    if urlsplit(settings.PUBLIC_URL).hostname not in settings.ALLOWED_HOSTS:
        yield 2, "PUBLIC_URL's host is not in ALLOWED_HOSTS: people could not open a page or a websocket."
    if _is_for_development(settings.EMAIL_BACKEND):
        yield 3, "EMAIL_BACKEND sends nothing: nobody could confirm an address or reset a password."
    if settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory":
        yield 4, "EMAIL_VERIFICATION is not mandatory: people could sign up with an address of others."
    if not urlsplit(settings.DATABASE_URL).password and not _is_here(settings.DATABASE_URL):
        yield 5, "DATABASE_URL has no password."
    if not urlsplit(settings.VALKEY_URL).password and not _is_here(settings.VALKEY_URL):
        yield 6, "VALKEY_URL has no password: texts of running answers pass through it."
    if not Path(settings.CATALOGUE).is_file():
        yield 7, f"CATALOGUE names {settings.CATALOGUE}, which is not there: no model could answer."
    if len(settings.METRICS_TOKEN) < 16:
        yield (
            8,
            "METRICS_TOKEN is not set or shorter than 16 characters: /metrics can't be read from outside.",
        )


def _is_for_development(backend: str) -> bool:
    return any(f".{kind}." in backend for kind in ("console", "dummy", "locmem", "filebased"))


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname
    return host is None or host in LOOPBACK
