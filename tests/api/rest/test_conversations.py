"""Changing and deleting conversations over HTTP."""

from django.test import Client

from accounts.models import User
from chat.models import Conversation, Generation, GenerationChunk, Message
from tests.factories.chat import make_branch, make_conversation, make_generation, make_message


def test_rename(api: Client, ada: User) -> None:
    row = make_conversation(ada, title="old")
    changed = api.patch(f"/api/v1/conversations/{row.pk}", {"title": "  Bees \0"}, "application/json")
    assert changed.status_code == 200
    assert changed.json()["title"] == "Bees"
    kept = Conversation.objects.get(pk=row.pk)
    assert (kept.title, kept.updated_at) == ("Bees", row.updated_at)


def test_an_empty_change_changes_nothing(api: Client, ada: User) -> None:
    row = make_conversation(ada, title="old")
    assert api.patch(f"/api/v1/conversations/{row.pk}", {}, "application/json").json()["title"] == "old"


def test_turning_to_a_version_shows_its_newest_leaf(api: Client, ada: User) -> None:
    conversation = make_conversation(ada)
    question, first = make_branch(conversation, 2)
    second = make_message(conversation, question)
    follow_up = make_message(conversation, second)
    older_leaf = make_message(conversation, follow_up)
    newer_leaf = make_message(conversation, follow_up)

    def turn_to(message: Message) -> str:
        answer = api.patch(
            f"/api/v1/conversations/{conversation.pk}", {"leaf": str(message.pk)}, "application/json"
        )
        assert answer.status_code == 200
        return str(answer.json()["leaf"])

    assert turn_to(second) == str(newer_leaf.pk)
    assert turn_to(first) == str(first.pk)
    assert turn_to(older_leaf) == str(older_leaf.pk)
    shown = api.get(f"/api/v1/conversations/{conversation.pk}/messages").json()["results"]
    assert [message["pk"] for message in shown] == [
        str(message.pk) for message in (question, second, follow_up, older_leaf)
    ]


def test_every_branch_of_many_loads_whole(api: Client, ada: User) -> None:
    conversation = make_conversation(ada)
    spine = make_branch(conversation, 20)
    branches = {make_message(conversation, parent).pk: n + 2 for n, parent in enumerate(spine)}
    for leaf, length in branches.items():
        page = api.get(f"/api/v1/conversations/{conversation.pk}/messages?leaf={leaf}").json()
        assert len(page["results"]) == length


def test_delete_removes_everything_and_stops_what_runs(api: Client, ada: User) -> None:
    conversation, other = make_conversation(ada), make_conversation(ada)
    make_branch(other, 2)
    _, answer = make_branch(conversation, 2)
    running = make_generation(answer, Generation.State.RUNNING, attempt=1)
    GenerationChunk.objects.create(generation=running, attempt=1, n_from=0, n_to=1, body={"text": "a"})
    assert api.delete(f"/api/v1/conversations/{conversation.pk}").status_code == 204
    assert list(Conversation.objects.all()) == [other]
    assert Message.objects.count() == 2
    assert (Generation.objects.count(), GenerationChunk.objects.count()) == (0, 0)
    assert api.delete(f"/api/v1/conversations/{conversation.pk}").status_code == 404
