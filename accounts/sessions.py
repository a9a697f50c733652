"""When sessions end: logged out, a new password, deactivated. Says so at once; the rows say it for sure.

The check itself is in authentication.py, and nothing here closes a socket.
"""

import uuid
from typing import Any

from allauth.account.signals import password_changed, password_reset, password_set
from django.contrib.auth.signals import user_logged_out
from django.db import transaction

from accounts.models import User
from accounts.signals import sessions_ended

ENDINGS = (user_logged_out, password_changed, password_reset, password_set)


def tell_ended(user_pk: uuid.UUID) -> None:
    """Send `sessions_ended` once the change is committed; a listener that fails breaks nothing."""
    transaction.on_commit(lambda: sessions_ended.send_robust(sender=None, user_pk=user_pk))


def listen() -> None:
    """Take notice of whatever ends a session elsewhere."""
    for ending in ENDINGS:
        ending.connect(_ended, dispatch_uid="accounts.sessions")


def _ended(sender: Any, user: User | None = None, **rest: Any) -> None:
    if user is not None:
        tell_ended(user.pk)
