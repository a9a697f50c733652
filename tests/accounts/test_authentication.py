"""Tokens and sessions as REST and the websocket see them."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.authentication import bearer_token, session_alive, user_of_token
from accounts.errors import NotAuthenticated
from accounts.models import User
from tests.accounts.conftest import me
from tests.factories.accounts import make_user, session_token


@pytest.fixture
def user(db: None) -> User:
    return make_user()


@pytest.fixture
def token(user: User) -> str:
    return session_token(user)


def assert_signed_out(client: Client, token: str, user: User) -> None:
    """All three ways to ask say no."""
    with pytest.raises(NotAuthenticated):
        user_of_token(token)
    assert not session_alive(token, user.pk)
    assert me(client, token).status_code == 401


def test_a_token_is_its_person(client: Client, user: User, token: str) -> None:
    assert user_of_token(token) == (user, token)
    assert session_alive(token, user.pk)
    assert me(client, token).json()["pk"] == str(user.pk)


def test_a_session_is_not_alive_for_somebody_else(token: str) -> None:
    assert not session_alive(token, make_user().pk)


@pytest.mark.parametrize("wrong", ["", "x", "a" * 32, "a" * 5000, "é" * 32, "../../etc"])
def test_an_unknown_token_is_refused(client: Client, user: User, wrong: str) -> None:
    with pytest.raises(NotAuthenticated):
        user_of_token(wrong)
    assert not session_alive(wrong, user.pk)


def test_an_expired_session_is_refused(client: Client, user: User, token: str) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert_signed_out(client, token, user)


def test_an_ended_session_is_refused(client: Client, user: User, token: str) -> None:
    Session.objects.all().delete()
    assert_signed_out(client, token, user)


def test_a_deactivated_person_is_refused(client: Client, user: User, token: str) -> None:
    User.objects.update(is_active=False)
    assert_signed_out(client, token, user)


def test_a_new_password_ends_the_session(client: Client, user: User, token: str) -> None:
    user.set_password("another staple of horses")
    user.save()
    assert_signed_out(client, token, user)


def test_a_deleted_person_is_refused(client: Client, user: User, token: str) -> None:
    pk = user.pk
    user.delete()
    with pytest.raises(NotAuthenticated):
        user_of_token(token)
    assert not session_alive(token, pk)


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("", None), ("Token abc", None)],
)
def test_the_authorization_header(header: str, token: str | None) -> None:
    assert bearer_token(header) == token


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "bearer\t"])
def test_a_bearer_without_a_token_is_refused(header: str) -> None:
    with pytest.raises(NotAuthenticated):
        bearer_token(header)
