"""Who asks: a session by its token or its cookie, for REST and for the websocket.

The token of an app is the key of its session, as allauth hands it out. No rights and no limits in here.
"""

import uuid
from importlib import import_module
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from rest_framework import authentication
from rest_framework.request import Request
from structlog import contextvars

from accounts.errors import NotAuthenticated
from accounts.models import User

SCHEME = "bearer"
Found = TypeVar("Found", bound=tuple[User, Any])


def user_of_token(token: str) -> tuple[User, str]:
    """The person whose session this is, and the session's key. Raises NotAuthenticated."""
    user = _user_of_session(token)
    if user is None:
        raise NotAuthenticated
    return user, token


def session_alive(session_key: str, user_pk: uuid.UUID) -> bool:
    """Whether the session still signs this person in: not ended or expired, active, same password."""
    user = _user_of_session(session_key)
    return user is not None and user.pk == user_pk


def bearer_token(header: str) -> str | None:
    """The token of an `Authorization` header; None for another scheme. Raises NotAuthenticated if empty."""
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != SCHEME:
        return None
    if not token.strip():
        raise NotAuthenticated
    return token.strip()


def _user_of_session(session_key: str) -> User | None:
    # Django's own check, as for a cookie: the backend, is_active, and the hash that a new password changes.
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    return user if isinstance(user, User) else None


def _logged(found: Found) -> Found:
    contextvars.bind_contextvars(user_id=str(found[0].pk))
    return found


class BearerSession(authentication.BaseAuthentication):
    """`Authorization: Bearer TOKEN`: a wrong token is refused, never tried as something else."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """The person and the session's key; None where the header is not ours."""
        token = bearer_token(request.headers.get("Authorization", ""))
        return None if token is None else _logged(user_of_token(token))

    def authenticate_header(self, request: Request) -> str:
        """What 401 asks for."""
        return "Bearer"


class BrowserSession(authentication.SessionAuthentication):
    """The session cookie, with the CSRF token on every request that changes something."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """The person of the cookie; None where there is none."""
        found: tuple[User, None] | None = super().authenticate(request)
        return None if found is None else _logged(found)

    def authenticate_header(self, request: Request) -> str:
        """Makes DRF answer 401, not 403, when there is no session."""
        return "Session"
