"""Whatever ends a session is told at once to those who keep sockets open, and told only once it is committed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.signals import sessions_ended
from tests.factories.accounts import PASSWORD, make_staff, make_user, session_token

Committed = Any


@pytest.fixture
def told() -> Iterator[list[Any]]:
    heard: list[Any] = []

    def hear(user_pk: Any, **rest: Any) -> None:
        heard.append(user_pk)

    sessions_ended.connect(hear)
    yield heard
    sessions_ended.disconnect(hear)


@pytest.fixture
def user(db: None) -> User:
    return make_user("ada@example.org")


def test_a_log_out(
    app: Callable[..., Any], user: User, told: list[Any], django_capture_on_commit_callbacks: Committed
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        app("delete", "auth/session", token=session_token(user))
        assert told == []
    assert told == [user.pk]


def test_a_password_reset(
    app: Callable[..., Any],
    user: User,
    told: list[Any],
    key_in_mail: Callable[[str], str],
    django_capture_on_commit_callbacks: Committed,
) -> None:
    app("post", "auth/password/request", {"email": user.email})
    body = {"key": key_in_mail("reset"), "password": "another staple of horses"}
    with django_capture_on_commit_callbacks(execute=True):
        app("post", "auth/password/reset", body)
    assert user.pk in told


def test_a_password_change(
    app: Callable[..., Any], user: User, told: list[Any], django_capture_on_commit_callbacks: Committed
) -> None:
    token = app("post", "auth/login", {"email": user.email, "password": PASSWORD}).json()["meta"][
        "session_token"
    ]
    body = {"current_password": PASSWORD, "new_password": "another staple of horses"}
    with django_capture_on_commit_callbacks(execute=True):
        assert app("post", "account/password/change", body, token).status_code == 200
    assert user.pk in told


@pytest.mark.parametrize(
    ("where", "body"),
    [
        ("{pk}/change/", {"email": "ada@example.org"}),
        ("{pk}/password/", {"usable_password": "true", "password1": "a staple 1", "password2": "a staple 1"}),
        ("", {"action": "deactivate", "_selected_action": ["{pk}"]}),
    ],
)
def test_what_the_admin_does(
    client: Client,
    user: User,
    told: list[Any],
    django_capture_on_commit_callbacks: Committed,
    where: str,
    body: dict[str, Any],
) -> None:
    client.force_login(make_staff())
    if "_selected_action" in body:
        body = {**body, "_selected_action": [str(user.pk)]}
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(f"/admin/accounts/user/{where.format(pk=user.pk)}", body).status_code == 302
    assert told == [user.pk]
