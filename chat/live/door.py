"""Who may open a websocket: a session cookie from an allowed Origin, or a bearer token (docs/api.md)."""

from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.http.request import validate_host

from accounts import authentication
from accounts.errors import NotAuthenticated


class Person(NamedTuple):
    """Who is at the other end, and the session that says so."""

    pk: UUID
    session_key: str


class OriginRefused(Exception):
    """A cookie without an allowed Origin is somebody else's page speaking."""


def identify(scope: dict[str, Any]) -> Person:
    """Raises NotAuthenticated or OriginRefused. A token needs no Origin; a cookie always does."""
    headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
    token = authentication.bearer_token(headers.get("authorization", ""))
    if token is None:
        token = _session_cookie(headers.get("cookie", ""))
        if not _allowed(headers.get("origin", ""), headers.get("host", "")):
            raise OriginRefused
    if token is None:
        raise NotAuthenticated
    user, session_key = authentication.user_of_token(token)
    return Person(user.pk, session_key)


def _session_cookie(raw: str) -> str | None:
    try:
        morsel = SimpleCookie(raw).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return None
    return morsel.value if morsel else None


def _allowed(origin: str, host: str) -> bool:
    parts = urlsplit(origin)
    if not parts.hostname:
        return False
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    return parts.netloc == host and validate_host(parts.hostname, settings.ALLOWED_HOSTS)
