"""Turns over HTTP: each call writes its rows once and answers with their keys."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User, new_pk
from chat.models import Conversation, Generation, Message
from inference import catalogue, keys, valkey
from inference.core.fair import Entry
from inference.queue import Queue
from tests.factories.accounts import make_organisation
from tests.factories.chat import make_branch, make_conversation, make_generation

JSON = "application/json"


def send(api: Client, **fields: Any) -> Any:
    return api.post("/api/v1/turns", {"client_id": "client-1", "text": "What do bees eat?", **fields}, JSON)


def test_the_first_turn_starts_a_conversation(api: Client, ada: User) -> None:
    answer = send(api)
    assert answer.status_code == 202
    conversation = Conversation.objects.get(user=ada)
    generation = Generation.objects.get(user=ada)
    question = Message.objects.get(role="user")
    assert answer.json() == {
        "conversation": str(conversation.pk),
        "message": str(question.pk),
        "answer": str(generation.message_id),
        "generation": str(generation.pk),
        "model": generation.model,
        "state": "queued",
        "events": f"/api/v1/generations/{generation.pk}/events",
    }
    assert conversation.title == "What do bees eat?"
    assert conversation.leaf_id == generation.message_id
    assert question.text == "What do bees eat?"


def test_sent_again_it_is_the_same_turn(api: Client) -> None:
    first = send(api)
    again = send(api)
    assert again.status_code == 202
    assert again.json() == first.json()
    assert (Conversation.objects.count(), Message.objects.count()) == (1, 2)


def test_another_body_under_the_same_client_id_is_refused(api: Client) -> None:
    send(api)
    refused = send(api, text="What do wasps eat?")
    assert (refused.status_code, refused.json()["code"]) == (422, "client_id_reused")
    assert Message.objects.count() == 2


def test_the_idempotency_key_serves_as_client_id(api: Client) -> None:
    body = {"text": "What do bees eat?"}
    headers = {"Idempotency-Key": '"01a23214-2e7b-7340-824c-b770d8c5d526"'}
    first = api.post("/api/v1/turns", body, JSON, headers=headers)
    assert first.status_code == 202
    assert Generation.objects.get().client_id == "01a23214-2e7b-7340-824c-b770d8c5d526"
    assert api.post("/api/v1/turns", body, JSON, headers=headers).json() == first.json()
    both = {**body, "client_id": "01a23214-2e7b-7340-824c-b770d8c5d526"}
    assert api.post("/api/v1/turns", both, JSON, headers=headers).json() == first.json()


def test_a_different_client_id_and_idempotency_key_are_refused(api: Client) -> None:
    refused = api.post(
        "/api/v1/turns",
        {"text": "What do bees eat?", "client_id": "client-1"},
        JSON,
        headers={"Idempotency-Key": "client-2"},
    )
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "client_id"
    assert Generation.objects.count() == 0


def test_the_next_turn_follows_the_answer(api: Client) -> None:
    first = send(api).json()
    Generation.objects.update(state=Generation.State.COMPLETE)
    second = send(api, client_id="client-2", conversation=first["conversation"], parent=first["answer"])
    assert second.status_code == 202
    assert (
        Message.objects.get(pk=second.json()["message"]).parent_id
        == Message.objects.get(pk=first["answer"]).pk
    )


def test_a_turn_after_a_running_answer_is_refused_and_stores_nothing(api: Client) -> None:
    first = send(api).json()
    refused = send(api, client_id="client-2", conversation=first["conversation"], parent=first["answer"])
    assert (refused.status_code, refused.json()["code"]) == (409, "answer_running")
    assert (Message.objects.count(), Generation.objects.count()) == (2, 1)


def test_text_is_stored_clean(api: Client) -> None:
    body = b'{"client_id": "client-1", "text": "a\\u0000b \\ud83e\\udd80 \\ud83e!"}'
    assert api.post("/api/v1/turns", body, JSON).status_code == 202
    assert Message.objects.get(role="user").text == "ab \U0001f980 \ufffd!"


def test_edit_makes_a_version_of_the_question(api: Client, ada: User) -> None:
    question, answer = make_branch(make_conversation(ada), 2)
    make_generation(answer)
    edited = api.post(
        f"/api/v1/messages/{question.pk}/edit", {"client_id": "client-1", "text": "And wasps?"}, JSON
    )
    assert edited.status_code == 202
    shown = api.get(f"/api/v1/messages/{edited.json()['message']}").json()
    assert (shown["parent"], shown["siblings"]) == (None, [str(question.pk), shown["pk"]])


def test_regenerate_makes_a_version_of_the_answer(api: Client, ada: User) -> None:
    question, answer = make_branch(make_conversation(ada), 2)
    make_generation(answer)
    again = api.post(f"/api/v1/messages/{answer.pk}/regenerate", {"client_id": "client-1"}, JSON)
    assert again.status_code == 202
    shown = api.get(f"/api/v1/messages/{again.json()['answer']}").json()
    assert (shown["parent"], shown["siblings"]) == (str(question.pk), [str(answer.pk), shown["pk"]])


def test_continue_goes_on_with_the_same_message(api: Client, ada: User) -> None:
    _, answer = make_branch(make_conversation(ada), 2)
    make_generation(answer, Generation.State.STOPPED)
    more = api.post(f"/api/v1/messages/{answer.pk}/continue", {"client_id": "client-1"}, JSON)
    assert more.status_code == 202
    assert more.json()["answer"] == str(answer.pk)
    assert Generation.objects.filter(message=answer).count() == 2


def test_continue_of_a_whole_answer_is_refused(api: Client, ada: User) -> None:
    _, answer = make_branch(make_conversation(ada), 2)
    make_generation(answer)
    refused = api.post(f"/api/v1/messages/{answer.pk}/continue", {"client_id": "client-1"}, JSON)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_resumable")
    assert Generation.objects.count() == 1


@pytest.mark.parametrize("body", [None, {}])
def test_stop_ends_what_is_queued_and_says_so_again(api: Client, body: dict[str, Any] | None) -> None:
    pk = send(api).json()["generation"]
    url = f"/api/v1/generations/{pk}/stop"
    for _ in range(2):
        stopped = api.generic("POST", url) if body is None else api.post(url, body, JSON)
        assert stopped.status_code == 202
        assert stopped.json() == {"pk": pk, "state": "stopped"}


def test_stop_asks_a_running_answer(api: Client, ada: User) -> None:
    _, answer = make_branch(make_conversation(ada), 2)
    running = make_generation(answer, Generation.State.RUNNING, attempt=1)
    assert api.generic("POST", f"/api/v1/generations/{running.pk}/stop").json()["state"] == "running"
    running.refresh_from_db()
    assert running.stop_requested_at is not None


def test_a_turn_is_queued_under_its_person_and_organisation(
    api: Client, ada: User, django_capture_on_commit_callbacks: Any
) -> None:
    first, second = make_organisation(ada, weight=3), make_organisation(ada)
    with django_capture_on_commit_callbacks(execute=True):
        turn = send(api).json()
    line = valkey.shared().hgetall(keys.queue_line(turn["model"], "interactive"))
    _, _, weight, sharer, user, prefix = line[turn["generation"].encode()].decode().split("|")
    assert (weight, sharer, user, prefix) == ("3", str(first.pk), str(ada.pk), turn["conversation"])
    assert first.pk != second.pk


def test_a_full_queue_refuses_new_turns_in_words_and_writes_nothing(api: Client) -> None:
    model = catalogue.current().default
    known = send(api)
    entries = [Entry(new_pk(), "batch", "s", "u", 1, n, 60_000) for n in range(model.queue_limit)]
    Queue(valkey.shared(), model.id).put(entries, model.queue_limit)
    valkey.shared().hset(keys.queue_pace(model.id), "ms", 20)
    refused = send(api, client_id="client-2")
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert refused["Retry-After"] == str(refused.json()["retry_after_s"]) == "21"
    assert Generation.objects.count() == 1
    assert send(api).json() == known.json()
