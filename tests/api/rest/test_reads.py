"""What GET answers: people, models, conversations in pages, branches in pages, one message, one answer."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from chat.models import Generation
from inference import keys, valkey
from inference.core.fair import Entry
from inference.queue import Queue
from tests.factories.chat import make_branch, make_conversation, make_generation, make_message


def test_me(api: Client, ada: User) -> None:
    assert api.get("/api/v1/me").json() == {"pk": str(ada.pk), "email": "ada@example.org", "is_staff": False}


def test_models(api: Client) -> None:
    assert api.get("/api/v1/models").json() == {
        "results": [
            {
                "id": "smollm2",
                "name": "SmolLM2 135M",
                "context_length": 2048,
                "max_tokens": 512,
                "is_default": True,
            }
        ]
    }


def test_one_conversation(api: Client, ada: User) -> None:
    moment = datetime(2026, 11, 5, 7, 30, tzinfo=UTC)
    row = make_conversation(ada, title="Bees", created_at=moment, updated_at=moment)
    assert api.get(f"/api/v1/conversations/{row.pk}").json() == {
        "pk": str(row.pk),
        "title": "Bees",
        "model": "smollm2",
        "leaf": None,
        "created_at": "2026-11-05T07:30:00Z",
        "updated_at": "2026-11-05T07:30:00Z",
    }


def test_conversations_come_last_changed_first_in_pages_of_50(api: Client, ada: User, bob: User) -> None:
    start = datetime(2026, 11, 5, tzinfo=UTC)
    rows = [make_conversation(ada, updated_at=start + timedelta(minutes=n)) for n in range(120)]
    make_conversation(bob)
    expected = [str(row.pk) for row in reversed(rows)]

    pages, url = [], "/api/v1/conversations"
    while url:
        page = api.get(url).json()
        pages.append([row["pk"] for row in page["results"]])
        previous, url = page["previous"], page["next"]
        assert url is None or url.startswith("/api/v1/conversations?cursor=")
    assert pages == [expected[:50], expected[50:100], expected[100:]]
    assert [row["pk"] for row in api.get(previous).json()["results"]] == expected[50:100]


def test_conversations_changed_at_the_same_moment_come_once_each(api: Client, ada: User) -> None:
    moment = datetime(2026, 11, 5, tzinfo=UTC)
    rows = {str(make_conversation(ada, updated_at=moment).pk) for _ in range(70)}
    first = api.get("/api/v1/conversations").json()
    second = api.get(first["next"]).json()
    seen = [row["pk"] for row in first["results"] + second["results"]]
    assert len(seen) == 70
    assert set(seen) == rows


def test_the_branch_of_the_leaf_oldest_first(api: Client, ada: User) -> None:
    conversation = make_conversation(ada)
    question, answer = make_branch(conversation, 2)
    generation = make_generation(answer, usage={"prompt_tokens": 3, "completion_tokens": 5})
    page = api.get(f"/api/v1/conversations/{conversation.pk}/messages").json()
    assert page["next"] is None
    first, second = page["results"]
    assert first == {
        "pk": str(question.pk),
        "conversation": str(conversation.pk),
        "parent": None,
        "role": "user",
        "parts": [{"type": "text", "text": "message 0"}],
        "created_at": question.created_at.isoformat().replace("+00:00", "Z"),
        "siblings": [str(question.pk)],
        "generation": None,
    }
    assert second["parent"] == str(question.pk)
    assert second["generation"] == {
        "pk": str(generation.pk),
        "message": str(answer.pk),
        "state": "complete",
        "model": "smollm2",
        "finish_reason": "stop",
        "error_code": None,
        "usage": {"prompt_tokens": 3, "completion_tokens": 5},
        "created_at": generation.created_at.isoformat().replace("+00:00", "Z"),
        "finished_at": generation.finished_at.isoformat().replace("+00:00", "Z"),
    }


def test_pages_of_a_branch_lead_from_the_leaf_to_the_first_message(api: Client, ada: User) -> None:
    conversation = make_conversation(ada)
    path = [str(message.pk) for message in make_branch(conversation, 23)]
    url: str | None = f"/api/v1/conversations/{conversation.pk}/messages?limit=5"
    seen: list[str] = []
    while url:
        page = api.get(url).json()
        assert len(page["results"]) <= 5
        seen = [message["pk"] for message in page["results"]] + seen
        url = page["next"]
    assert seen == path


def test_a_new_conversation_has_no_messages(api: Client, ada: User) -> None:
    conversation = make_conversation(ada)
    page = api.get(f"/api/v1/conversations/{conversation.pk}/messages").json()
    assert page == {"results": [], "next": None}


def test_another_leaf_shows_another_branch_and_each_message_its_versions(api: Client, ada: User) -> None:
    conversation = make_conversation(ada)
    question, first = make_branch(conversation, 2)
    second = make_message(conversation, question)
    other_question = make_message(conversation)
    page = api.get(f"/api/v1/conversations/{conversation.pk}/messages?leaf={second.pk}").json()
    assert [(m["pk"], m["siblings"]) for m in page["results"]] == [
        (str(question.pk), [str(question.pk), str(other_question.pk)]),
        (str(second.pk), [str(first.pk), str(second.pk)]),
    ]


def test_a_message_shows_its_newest_generation(api: Client, ada: User) -> None:
    _, answer = make_branch(make_conversation(ada), 2)
    make_generation(answer, Generation.State.STOPPED)
    newest = make_generation(answer, Generation.State.RUNNING)
    shown = api.get(f"/api/v1/messages/{answer.pk}").json()
    assert shown["generation"]["pk"] == str(newest.pk)
    assert shown["generation"]["state"] == "running"


def test_a_queued_generation_has_its_place(api: Client, ada: User) -> None:
    _, answer = make_branch(make_conversation(ada), 2)
    before, queued = make_generation(answer), make_generation(answer, Generation.State.QUEUED)
    entries = [
        Entry(one.pk, "interactive", str(n), str(n), 1, n, 60_000) for n, one in enumerate((before, queued))
    ]
    Queue(valkey.shared(), "smollm2").put(entries, 10)
    shown = api.get(f"/api/v1/generations/{queued.pk}").json()
    assert (shown["pk"], shown["message"], shown["state"]) == (str(queued.pk), str(answer.pk), "queued")
    assert (shown["place"], shown["expected_wait_s"]) == (1, None)
    valkey.shared().hset(keys.queue_pace("smollm2"), "ms", 1500)
    assert api.get(f"/api/v1/generations/{queued.pk}").json()["expected_wait_s"] == 3.0
    ended = api.get(f"/api/v1/generations/{before.pk}").json()
    assert (ended["place"], ended["expected_wait_s"]) == (None, None)


@pytest.mark.parametrize("length", [50, 400])
def test_the_first_page_of_a_chat_costs_few_statements_at_any_length(
    api: Client, ada: User, length: int
) -> None:
    conversation = make_conversation(ada)
    for message in make_branch(conversation, length)[1::2]:
        make_generation(message)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert api.get(f"/api/v1/conversations/{conversation.pk}").status_code == 200
        page = api.get(f"/api/v1/conversations/{conversation.pk}/messages").json()
    assert len(page["results"]) == 50
    # Twice session, user and conversation; then path, versions, generations.
    assert len(queries) == 9


def test_the_list_of_conversations_costs_few_statements(api: Client, ada: User) -> None:
    for _ in range(60):
        make_branch(make_conversation(ada), 1)
    with CaptureQueriesContext(connection) as queries:
        assert len(api.get("/api/v1/conversations").json()["results"]) == 50
    assert len(queries) == 3
