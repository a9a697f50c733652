"""What both kinds of client do to sign in, over HTTP."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.core import mail
from django.test import Client


@pytest.fixture
def app(client: Client, db: None) -> Callable[..., Any]:
    """Calls allauth as an app does: `app("post", "auth/login", {...}, token)`."""

    def call(method: str, what: str, body: Any = None, token: str = "") -> Any:
        headers = {"X-Session-Token": token} if token else {}
        data = "" if body is None else json.dumps(body)
        return client.generic(
            method.upper(), f"/_allauth/app/v1/{what}", data, "application/json", headers=headers
        )

    return call


@pytest.fixture
def key_in_mail() -> Callable[[str], str]:
    """The key in the link of the last mail."""

    def find(page: str) -> str:
        found = re.search(rf"/{page}/(\S+)", str(mail.outbox[-1].body))
        assert found, mail.outbox[-1].body
        return unquote(found[1])

    return find


def me(client: Client, token: str) -> Any:
    """What `GET me` answers to this token."""
    return client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
