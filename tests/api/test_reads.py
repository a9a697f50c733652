"""What GET answers: conversations in pages, branches in pages, one message, one answer."""

import pytest
from django.test import Client

from accounts.models import User
from tests.factories.accounts import make_user
from tests.factories.chat import make_branch, make_conversation

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return make_user("ada@example.org")


@pytest.fixture
def client(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def test_me(client: Client, user: User) -> None:
    assert client.get("/api/v1/me").json() == {
        "pk": str(user.pk),
        "email": "ada@example.org",
        "is_staff": False,
    }


def test_messages(client: Client, user: User) -> None:
    conversation = make_conversation(user)
    path = make_branch(conversation, 4)
    r = client.get(f"/api/v1/conversations/{conversation.pk}/messages?limit=3")
    assert r.status_code == 200, r.content
    print(r.json())
