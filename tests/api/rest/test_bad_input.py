"""What is malformed, too large, unknown or somebody else's is refused by name, and nothing is written."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import UsageEntry, User
from chat.models import Conversation, Generation, Message
from tests.factories.chat import make_branch, make_conversation, make_generation

# A key that nothing has; the same in every process, so that they collect the same tests.
NOBODYS = "01a23219-0000-7000-8000-000000000000"

JSON = "application/json"
GOOD = {"client_id": "client-1", "text": "What do bees eat?"}


@pytest.fixture(autouse=True)
def nothing_written(db: None) -> Any:
    """Runs around every test here: the rows after are the rows before, but for those of the set-up."""
    marks: dict[str, Any] = {}

    def rows() -> Any:
        return (
            list(Conversation.objects.order_by("pk").values()),
            list(Message.objects.order_by("pk").values()),
            list(Generation.objects.order_by("pk").values()),
            UsageEntry.objects.count(),
        )

    def remember() -> None:
        marks["rows"] = rows()

    remember()
    yield remember
    assert rows() == marks["rows"]


def refused(answer: Any, status: int, code: str) -> Any:
    """The problem, whose form is checked."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), (
        answer.content
    )
    problem = answer.json()
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"/docs/errors#{code}"
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize(
    ("fields", "field", "limit"),
    [
        ({"text": ""}, "text", None),
        ({"text": " \n\t\u2003 "}, "text", None),
        ({"text": "\0\0"}, "text", None),
        ({"text": "a" * 100_001}, "text", 100_000),
        ({"text": None}, "text", None),
        ({"text": 5}, "text", None),
        ({"text": ["a"]}, "text", None),
        ({"client_id": "short"}, "client_id", 8),
        ({"client_id": "a" * 65}, "client_id", 64),
        ({"client_id": "with space"}, "client_id", None),
        ({"client_id": "with\u0000nul"}, "client_id", None),
        ({"client_id": "\ud83e\ud83e\ud83e\ud83e\ud83e\ud83e\ud83e\ud83e"}, "client_id", None),
        ({"client_id": None}, "client_id", None),
        ({"conversation": "not-a-uuid"}, "conversation", None),
        ({"conversation": 5}, "conversation", None),
        ({"conversation": {}}, "conversation", None),
        ({"parent": "\0"}, "parent", None),
        ({"parent": "\ud83e"}, "parent", None),
        ({"parent": NOBODYS}, "parent", None),
        ({"model": "gpt-none"}, "model", None),
        ({"model": "a" * 101}, "model", 100),
        ({"model": "\ud83e"}, "model", None),
        ({"temperature": 1}, "temperature", None),
        ({"\ud83e": 1}, "\ufffd", None),
    ],
)
def test_a_field_that_breaks_a_rule_is_named(api: Client, fields: Any, field: str, limit: int | None) -> None:
    problem = refused(api.post("/api/v1/turns", json.dumps({**GOOD, **fields}), JSON), 400, "invalid")
    first = problem["errors"][0]
    assert first["field"] == field
    assert first["reason"]
    assert first.get("limit") == limit


def test_missing_fields_are_all_named(api: Client) -> None:
    problem = refused(api.post("/api/v1/turns", {}, JSON), 400, "invalid")
    assert [error["field"] for error in problem["errors"]] == ["client_id", "text"]


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"null", b"5"])
def test_a_body_that_is_no_object(api: Client, body: bytes) -> None:
    problem = refused(api.post("/api/v1/turns", body, JSON), 400, "invalid")
    assert problem["errors"][0]["field"] == "body"


@pytest.mark.parametrize(
    "body", [b"{", b"", b"{'a': 1}", b'{"a": NaN}', b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b'{"a": 1} x']
)
def test_malformed_json(api: Client, body: bytes) -> None:
    if body:
        refused(api.post("/api/v1/turns", body, JSON), 400, "parse_error")
    else:
        refused(api.post("/api/v1/turns", body, JSON), 400, "invalid")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_body_that_is_not_json(api: Client, kind: str) -> None:
    refused(api.post("/api/v1/turns", json.dumps(GOOD), kind), 415, "unsupported_media_type")


def test_a_body_over_a_megabyte(api: Client) -> None:
    problem = refused(api.post("/api/v1/turns", {**GOOD, "text": "a" * 1_000_000}, JSON), 413, "too_large")
    assert problem["errors"] == [{"field": "body", "reason": "It has too many bytes.", "limit": 1_000_000}]


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("post", "/api/v1/messages/{message}/edit"),
        ("post", "/api/v1/messages/{message}/regenerate"),
        ("post", "/api/v1/messages/{message}/continue"),
        ("post", "/api/v1/generations/{generation}/stop"),
        ("patch", "/api/v1/conversations/{conversation}"),
    ],
)
def test_every_call_with_a_body_refuses_unknown_fields(
    api: Client, ada: User, nothing_written: Callable[[], None], method: str, url: str
) -> None:
    keys = everything(ada)
    nothing_written()
    problem = refused(getattr(api, method)(url.format(**keys), {"colour": "red"}, JSON), 400, "invalid")
    assert problem["errors"] == [{"field": "colour", "reason": "There is no such field."}]


@pytest.mark.parametrize(
    ("fields", "field", "limit"),
    [
        ({"title": ""}, "title", None),
        ({"title": "  "}, "title", None),
        ({"title": "a" * 201}, "title", 200),
        ({"title": None}, "title", None),
        ({"leaf": None}, "leaf", None),
        ({"leaf": "x"}, "leaf", None),
    ],
)
def test_changes_that_break_a_rule(
    api: Client,
    ada: User,
    nothing_written: Callable[[], None],
    fields: Any,
    field: str,
    limit: int | None,
) -> None:
    url = f"/api/v1/conversations/{make_conversation(ada, title='old').pk}"
    nothing_written()
    problem = refused(api.patch(url, fields, JSON), 400, "invalid")
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0].get("limit") == limit


@pytest.mark.parametrize(
    ("query", "field", "limit"),
    [
        ("limit=0", "limit", 1),
        ("limit=201", "limit", 200),
        ("limit=x", "limit", None),
        ("limit=" + "9" * 5000, "limit", None),
        ("leaf=x", "leaf", None),
        ("leaf=%00", "leaf", None),
        ("before=1", "before", None),
    ],
)
def test_page_parameters_that_break_a_rule(
    api: Client, ada: User, nothing_written: Callable[[], None], query: str, field: str, limit: int | None
) -> None:
    url = f"/api/v1/conversations/{make_conversation(ada).pk}/messages?{query}"
    nothing_written()
    problem = refused(api.get(url), 400, "invalid")
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0].get("limit") == limit


@pytest.mark.parametrize("cursor", ["x", "%00", "cD1ub3QtYS1kYXRl", "bz05OTk5OTk5OTk5OQ==", "cj14", "é"])
def test_a_cursor_that_is_none(api: Client, cursor: str) -> None:
    answer = api.get(f"/api/v1/conversations?cursor={cursor}")
    if answer.status_code != 200:
        assert refused(answer, 400, "invalid")["errors"][0]["field"] == "cursor"


def everything(user: User) -> dict[str, Any]:
    """One row of each kind, by its name in an address."""
    conversation = make_conversation(user)
    question, answer = make_branch(conversation, 2)
    return {
        "conversation": conversation.pk,
        "message": question.pk,
        "generation": make_generation(answer, Generation.State.RUNNING).pk,
    }


CALLS = [
    ("get", "/api/v1/conversations/{conversation}", None),
    ("patch", "/api/v1/conversations/{conversation}", {"title": "mine"}),
    ("delete", "/api/v1/conversations/{conversation}", None),
    ("get", "/api/v1/conversations/{conversation}/messages", None),
    ("get", "/api/v1/messages/{message}", None),
    ("post", "/api/v1/messages/{message}/edit", GOOD),
    ("post", "/api/v1/messages/{message}/regenerate", {"client_id": "client-1"}),
    ("post", "/api/v1/messages/{message}/continue", {"client_id": "client-1"}),
    ("get", "/api/v1/generations/{generation}", None),
    ("post", "/api/v1/generations/{generation}/stop", {}),
]


def call(client: Client, method: str, url: str, body: Any) -> Any:
    if body is None:
        return getattr(client, method)(url)
    return getattr(client, method)(url, body, JSON)


@pytest.mark.parametrize(("method", "url", "body"), CALLS)
def test_what_is_somebody_elses_is_not_there(
    api: Client, bob: User, nothing_written: Callable[[], None], method: str, url: str, body: Any
) -> None:
    theirs = everything(bob)
    nothing_written()
    refused(call(api, method, url.format(**theirs), body), 404, "not_found")


@pytest.mark.parametrize("key", [NOBODYS, "not-a-uuid", "5", "%00", "%F0%9F%A6%80", "a" * 500])
@pytest.mark.parametrize(("method", "url", "body"), CALLS)
def test_what_is_unknown_is_not_there(api: Client, method: str, url: str, body: Any, key: str) -> None:
    address = url.format(conversation=key, message=key, generation=key)
    refused(call(api, method, address, body), 404, "not_found")


def test_somebody_elses_keys_in_a_body_are_not_there(
    api: Client, ada: User, bob: User, nothing_written: Callable[[], None]
) -> None:
    mine, theirs = everything(ada), everything(bob)
    nothing_written()
    for fields in (
        {"conversation": str(theirs["conversation"])},
        {"conversation": str(theirs["conversation"]), "parent": str(theirs["message"])},
        {"conversation": str(mine["conversation"]), "parent": str(theirs["message"])},
    ):
        refused(api.post("/api/v1/turns", {**GOOD, **fields}, JSON), 404, "not_found")
    leaf = {"leaf": str(theirs["message"])}
    refused(api.patch(f"/api/v1/conversations/{mine['conversation']}", leaf, JSON), 404, "not_found")
    page = f"/api/v1/conversations/{mine['conversation']}/messages?leaf={theirs['message']}"
    refused(api.get(page), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        *CALLS,
        ("get", "/api/v1/me", None),
        ("get", "/api/v1/conversations", None),
        ("post", "/api/v1/turns", GOOD),
    ],
)
def test_who_is_signed_out_gets_nothing(
    client: Client, ada: User, nothing_written: Callable[[], None], method: str, url: str, body: Any
) -> None:
    rows = everything(ada)
    nothing_written()
    answer = call(client, method, url.format(**rows), body)
    refused(answer, 401, "not_signed_in")
    assert answer["WWW-Authenticate"] == "Bearer"
