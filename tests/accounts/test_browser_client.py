"""Signing up, in and out as a browser does: cookie, CSRF token."""

import json
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from accounts.models import User
from chat.models import Conversation
from tests.factories.accounts import PASSWORD, make_user

BROWSER = "/_allauth/browser/v1/"
TURN = {"client_id": "client-1", "text": "What do bees eat?"}


@pytest.fixture
def browser(db: None) -> Client:
    """Checks CSRF, as a real server does."""
    client = Client(enforce_csrf_checks=True)
    assert client.get(f"{BROWSER}config").status_code == 200
    return client


def send(browser: Client, method: str, url: str, body: Any = None) -> Any:
    """With the CSRF token of the cookie."""
    headers = {"X-CSRFToken": browser.cookies["csrftoken"].value}
    return browser.generic(
        method, url, "" if body is None else json.dumps(body), "application/json", headers=headers
    )


def test_from_sign_up_to_log_out(browser: Client) -> None:
    signed_up = send(
        browser, "POST", f"{BROWSER}auth/signup", {"email": "Ada@example.org", "password": PASSWORD}
    )
    assert signed_up.status_code == 200
    assert browser.cookies["sessionid"]["httponly"]
    assert browser.get("/api/v1/me").json()["email"] == "ada@example.org"
    assert send(browser, "POST", "/api/v1/turns", TURN).status_code == 202
    assert send(browser, "DELETE", f"{BROWSER}auth/session").status_code == 401
    assert browser.get("/api/v1/me").status_code == 401
    assert browser.get(f"{BROWSER}auth/session").status_code == 401
    assert Session.objects.filter(session_key=browser.cookies["sessionid"].value).count() == 0


def test_log_in(browser: Client) -> None:
    make_user("ada@example.org")
    body = {"email": "ADA@example.org", "password": PASSWORD}
    assert send(browser, "POST", f"{BROWSER}auth/login", body).status_code == 200
    assert browser.get("/api/v1/me").status_code == 200
    assert browser.get(f"{BROWSER}auth/session").json()["data"]["user"]["email"] == "ada@example.org"


def test_without_a_csrf_token_nothing_is_written(browser: Client) -> None:
    body = {"email": "ada@example.org", "password": PASSWORD}
    refused = browser.post(f"{BROWSER}auth/signup", body, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert User.objects.count() == 0

    browser.force_login(make_user())
    refused = browser.post("/api/v1/turns", TURN, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert Conversation.objects.count() == 0


def test_a_token_needs_no_csrf_token_and_a_wrong_one_is_not_made_good_by_a_cookie(browser: Client) -> None:
    browser.force_login(make_user())
    token = browser.cookies["sessionid"].value
    header = {"Authorization": f"Bearer {token}"}
    assert browser.post("/api/v1/turns", TURN, "application/json", headers=header).status_code == 202
    wrong = browser.get("/api/v1/me", headers={"Authorization": "Bearer wrong"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "not_signed_in")


def test_a_password_is_reset(browser: Client, key_in_mail: Any) -> None:
    make_user("ada@example.org")
    assert (
        send(browser, "POST", f"{BROWSER}auth/password/request", {"email": "ada@example.org"}).status_code
        == 200
    )
    body = {"key": key_in_mail("reset"), "password": "another staple of horses"}
    assert send(browser, "POST", f"{BROWSER}auth/password/reset", body).status_code == 401
    log_in = {"email": "ada@example.org", "password": "another staple of horses"}
    assert send(browser, "POST", f"{BROWSER}auth/login", log_in).status_code == 200
