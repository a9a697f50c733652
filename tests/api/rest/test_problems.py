"""Refusals and faults that Django or DRF answer by themselves have our form too."""

from typing import Any

import pytest
from django.test import Client

from chat import access


@pytest.mark.parametrize(
    ("method", "url", "status", "code"),
    [
        ("get", "/api/v1/nothing", 404, "not_found"),
        ("get", "/api/", 404, "not_found"),
        ("delete", "/api/v1/me", 405, "method_not_allowed"),
        ("get", "/_allauth/nothing", 404, "not_found"),
    ],
)
def test_what_the_framework_refuses(api: Client, method: str, url: str, status: int, code: str) -> None:
    answer = getattr(api, method)(url)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["code"] == code


def test_only_json_is_offered(api: Client) -> None:
    answer = api.get("/api/v1/me", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")


def test_a_fault_is_a_problem_that_says_nothing_of_it(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(access, "conversations", broken)
    api.raise_request_exception = False
    answer = api.get("/api/v1/conversations")
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert answer.json()["code"] == "server_error"
    assert "secret" not in answer.content.decode()


@pytest.mark.django_db
def test_a_host_that_is_not_ours_is_a_problem(client: Client) -> None:
    answer = client.get("/api/v1/me", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


@pytest.mark.django_db
def test_pages_keep_djangos_own_form(client: Client) -> None:
    answer = client.get("/nothing/here")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_the_openapi_document_is_whole(client: Client, db: None) -> None:
    answer = client.get("/api/v1/schema", headers={"Accept": "application/json"})
    assert answer.status_code == 200
    paths = answer.json()["paths"]
    assert {"/api/v1/turns", "/api/v1/me", "/api/v1/conversations/{pk}/messages"} <= set(paths)
