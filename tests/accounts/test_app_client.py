"""Signing up, in and out as an app does: by token, from the first call to the last."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.sessions.models import Session
from django.test import Client

from accounts.models import User
from tests.accounts.conftest import me
from tests.factories.accounts import PASSWORD, make_user


def token_of(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return str(answer.json()["meta"]["session_token"])


def test_sign_up_stores_a_lower_case_email_and_signs_in(app: Callable[..., Any], client: Client) -> None:
    token = token_of(app("post", "auth/signup", {"email": "Ada@Example.ORG", "password": PASSWORD}))
    user = User.objects.get()
    assert user.email == "ada@example.org"
    assert me(client, token).json() == {"pk": str(user.pk), "email": "ada@example.org", "is_staff": False}
    shown = app("get", "auth/session", token=token).json()
    assert shown["data"]["user"]["email"] == "ada@example.org"


def test_log_in_takes_the_email_in_any_case(app: Callable[..., Any], client: Client) -> None:
    make_user("ada@example.org")
    token = token_of(app("post", "auth/login", {"email": "ADA@example.org", "password": PASSWORD}))
    assert me(client, token).status_code == 200


def test_log_out_ends_the_token(app: Callable[..., Any], client: Client) -> None:
    make_user("ada@example.org")
    token = token_of(app("post", "auth/login", {"email": "ada@example.org", "password": PASSWORD}))
    assert app("delete", "auth/session", token=token).status_code == 401
    assert me(client, token).status_code == 401
    assert app("get", "auth/session", token=token).status_code == 410


@pytest.mark.parametrize(
    "body",
    [
        {"email": "ada@example.org", "password": "wrong password"},
        {"email": "nobody@example.org", "password": PASSWORD},
        {"email": "ada@example.org"},
        {"email": "ada@example.org", "password": ["a"]},
        {"email": "\0", "password": PASSWORD},
        {"email": "\ud83e@example.org", "password": PASSWORD},
        {"email": "ada@example.org", "password": "\ud83e"},
        [],
        "text",
    ],
)
def test_a_wrong_log_in_is_refused_and_opens_no_session(app: Callable[..., Any], body: Any) -> None:
    make_user("ada@example.org")
    assert app("post", "auth/login", body).status_code == 400
    assert Session.objects.count() == 0


@pytest.mark.parametrize("body", ["[" * 100_000, "{", "\x00"])
def test_a_body_that_can_not_be_read_is_no_fault(client: Client, db: None, body: str) -> None:
    assert client.post("/_allauth/app/v1/auth/login", body, "application/json").status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"email": "Ada@example.org", "password": PASSWORD},
        {"email": "new@example.org", "password": "1234"},
        {"email": "new@example.org", "password": "password"},
        {"email": "no email", "password": PASSWORD},
        {"email": "a" * 300 + "@example.org", "password": PASSWORD},
        {"email": "new@example.org", "password": "long enough but \ud83e"},
        {},
    ],
)
def test_a_wrong_sign_up_is_refused_and_makes_nobody(app: Callable[..., Any], body: Any) -> None:
    make_user("ada@example.org")
    answer = app("post", "auth/signup", body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["message"]
    assert (User.objects.count(), Session.objects.count()) == (1, 0)


def test_an_inactive_person_is_refused(app: Callable[..., Any]) -> None:
    make_user("ada@example.org", is_active=False)
    answer = app("post", "auth/login", {"email": "ada@example.org", "password": PASSWORD})
    assert answer.status_code == 401
    assert not answer.json()["meta"]["is_authenticated"]
    assert Session.objects.count() == 0


def test_a_forgotten_password_is_replaced_and_ends_old_sessions(
    app: Callable[..., Any], client: Client, key_in_mail: Callable[[str], str]
) -> None:
    make_user("ada@example.org")
    old = token_of(app("post", "auth/login", {"email": "ada@example.org", "password": PASSWORD}))
    assert app("post", "auth/password/request", {"email": "ADA@example.org"}).status_code == 200
    body = {"key": key_in_mail("reset"), "password": "another staple of horses"}
    assert app("post", "auth/password/reset", body).status_code == 401  # done, but not signed in by it
    assert me(client, old).status_code == 401
    assert app("post", "auth/login", {"email": "ada@example.org", "password": PASSWORD}).status_code == 400
    log_in = {"email": "ada@example.org", "password": body["password"]}
    assert me(client, token_of(app("post", "auth/login", log_in))).status_code == 200
    assert app("post", "auth/password/reset", body).status_code == 400  # once only


@pytest.mark.parametrize("key", ["x", "", "a-b-c", "\0"])
def test_a_reset_with_a_wrong_key_changes_nothing(app: Callable[..., Any], key: str) -> None:
    user = make_user("ada@example.org")
    answer = app("post", "auth/password/reset", {"key": key, "password": "another staple of horses"})
    assert answer.status_code == 400
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_a_reset_asked_for_nobody_says_nothing(app: Callable[..., Any]) -> None:
    make_user("ada@example.org")
    known = app("post", "auth/password/request", {"email": "ada@example.org"})
    unknown = app("post", "auth/password/request", {"email": "nobody@example.org"})
    assert (known.status_code, known.content) == (unknown.status_code, unknown.content)


def test_where_verification_is_mandatory_the_email_comes_first(
    app: Callable[..., Any], client: Client, key_in_mail: Callable[[str], str], settings: Any
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    pending = app("post", "auth/signup", {"email": "ada@example.org", "password": PASSWORD})
    assert pending.status_code == 401
    token = str(pending.json()["meta"]["session_token"])
    assert me(client, token).status_code == 401
    verified = app("post", "auth/email/verify", {"key": key_in_mail("verify")}, token)
    assert verified.status_code in {200, 401}
    assert EmailAddress.objects.get().verified
    signed_in = app("post", "auth/login", {"email": "ada@example.org", "password": PASSWORD})
    assert me(client, token_of(signed_in)).status_code == 200


def test_where_verification_is_mandatory_a_taken_email_is_not_told(
    app: Callable[..., Any], settings: Any
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    new = app("post", "auth/signup", {"email": "new@example.org", "password": PASSWORD})
    taken = app("post", "auth/signup", {"email": "new@example.org", "password": PASSWORD})
    assert (new.status_code, new.json()["data"]) == (taken.status_code, taken.json()["data"])
    assert User.objects.count() == 1


def test_after_five_wrong_passwords_the_right_one_waits(app: Callable[..., Any], settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {}
    make_user("ada@example.org")
    for _ in range(5):
        app("post", "auth/login", {"email": "ada@example.org", "password": "wrong password"})
    answer = app("post", "auth/login", {"email": "Ada@example.org", "password": PASSWORD})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["code"] == "too_many_login_attempts"
    assert Session.objects.count() == 0
