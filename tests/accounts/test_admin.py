"""The admin over HTTP: who gets in, what they see, and that lists stay quick however long the tables are."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Organisation, UsageEntry, User
from chat.models import Dispatcher, Generation, Message
from tests.factories.accounts import PASSWORD, make_staff, make_user, session_token
from tests.factories.chat import make_branch, make_conversation, make_generation

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make_staff("boss@example.org"))
    return client


@pytest.fixture
def helper(client: Client) -> Client:
    """Staff with the right to change users, but no superuser."""
    user = make_user("helper@example.org", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=["change_user", "view_user"]))
    client.force_login(user)
    return client


def log_in(client: Client, email: str, password: str = PASSWORD) -> Any:
    return client.post("/admin/login/?next=/admin/", {"username": email, "password": password})


def test_log_in_by_email_in_any_case(client: Client) -> None:
    make_staff("boss@example.org")
    assert log_in(client, "BOSS@example.org").status_code == 302
    page = client.get("/admin/")
    assert page.status_code == 200
    assert "Parley" in page.content.decode()


@pytest.mark.parametrize(
    ("email", "password"),
    [("boss@example.org", "wrong"), ("nobody@example.org", PASSWORD), ("plain@example.org", PASSWORD)],
)
def test_a_wrong_log_in_is_refused(client: Client, email: str, password: str) -> None:
    make_staff("boss@example.org")
    make_user("plain@example.org")
    make_user("gone@example.org", is_active=False, is_staff=True)
    assert log_in(client, email, password).status_code == 200
    assert client.get("/admin/").status_code == 302


def test_log_ins_to_the_admin_are_counted(client: Client, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {}
    make_staff("boss@example.org")
    for _ in range(5):
        log_in(client, "boss@example.org", "wrong")
    assert "Too many failed login attempts" in log_in(client, "boss@example.org").content.decode()
    assert client.get("/admin/").status_code == 302


def test_every_page_opens(admin: Client) -> None:
    conversation = make_conversation()
    generation = make_generation(make_branch(conversation, 2)[1], first_token_at=None)
    organisation = Organisation.objects.create(name="Bees")
    Membership.objects.create(organisation=organisation, user=conversation.user)
    usage = UsageEntry.objects.create(generation_id=generation.pk, user=conversation.user, model="smollm2")
    rows = {
        "accounts/user": conversation.user,
        "accounts/organisation": organisation,
        "accounts/usageentry": usage,
        "chat/conversation": conversation,
        "chat/generation": generation,
        "chat/dispatcher": Dispatcher.objects.create(),
    }
    for where, row in rows.items():
        for url in (f"/admin/{where}/", f"/admin/{where}/?q=x", f"/admin/{where}/{row.pk}/change/"):
            assert admin.get(url).status_code == 200, url
    for url in ("/admin/accounts/user/add/", f"/admin/accounts/user/{conversation.user.pk}/password/"):
        assert admin.get(url).status_code == 200, url


def test_a_person_is_made_and_changed_with_a_lower_case_email(admin: Client) -> None:
    fields = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    made = admin.post("/admin/accounts/user/add/", {"email": "Ada@Example.org", **fields})
    assert made.status_code == 302
    user = User.objects.get(email="ada@example.org")
    assert user.check_password(PASSWORD)
    url = f"/admin/accounts/user/{user.pk}/change/"
    changed = admin.post(url, {"email": "ADA@bees.example", "name": "Ada", "is_active": "on"})
    assert changed.status_code == 302
    user.refresh_from_db()
    assert (user.email, user.name, user.is_staff) == ("ada@bees.example", "Ada", False)


def test_deactivation_signs_out(admin: Client) -> None:
    user = make_user()
    token = session_token(user)
    action = {"action": "deactivate", "_selected_action": [str(user.pk)]}
    assert admin.post("/admin/accounts/user/", action).status_code == 302
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_staff_can_not_make_themselves_superusers(helper: Client) -> None:
    me = User.objects.get(email="helper@example.org")
    url = f"/admin/accounts/user/{me.pk}/change/"
    body = {"email": me.email, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    assert helper.post(url, body).status_code == 302
    me.refresh_from_db()
    assert not me.is_superuser


def test_staff_can_not_take_over_a_superuser(helper: Client) -> None:
    boss = make_staff("boss@example.org")
    new = {"usable_password": "true", "password1": "another staple 1", "password2": "another staple 1"}
    assert helper.post(f"/admin/accounts/user/{boss.pk}/password/", new).status_code == 403
    helper.post(f"/admin/accounts/user/{boss.pk}/change/", {"email": "helper2@example.org"})
    action = {"action": "deactivate", "_selected_action": [str(boss.pk)]}
    helper.post("/admin/accounts/user/", action)
    boss.refresh_from_db()
    assert boss.check_password(PASSWORD)
    assert (boss.email, boss.is_active) == ("boss@example.org", True)


@pytest.mark.parametrize(
    "where", ["chat/conversation", "chat/generation", "chat/dispatcher", "accounts/usageentry"]
)
def test_what_is_to_look_at_can_not_be_changed(admin: Client, where: str) -> None:
    _, answer = make_branch(make_conversation(), 2)
    generation = make_generation(answer)
    row = {
        "chat/conversation": answer.conversation,
        "chat/generation": generation,
        "chat/dispatcher": Dispatcher.objects.create(),
        "accounts/usageentry": UsageEntry.objects.create(
            generation_id=generation.pk, user=generation.user, model="m"
        ),
    }[where]
    assert admin.get(f"/admin/{where}/add/").status_code == 403
    assert admin.post(f"/admin/{where}/{row.pk}/change/", {}).status_code == 403
    assert admin.post(f"/admin/{where}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post("/admin/accounts/user/", {"action": "delete_selected"}).status_code in {200, 302}
    assert type(row).objects.filter(pk=row.pk).exists()


def test_texts_are_on_the_conversations_own_page_only_and_escaped(admin: Client) -> None:
    conversation = make_conversation(title="a secret title")
    Message.objects.filter(pk=make_branch(conversation, 1)[0].pk).update(
        parts=[{"type": "text", "text": "<script>alert(1)</script> a secret"}]
    )
    assert "secret" not in admin.get("/admin/chat/conversation/").content.decode()
    page = admin.get(f"/admin/chat/conversation/{conversation.pk}/change/").content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; a secret" in page
    assert "<script>alert" not in page


def test_an_answers_page_shows_where_its_time_went_and_no_text(admin: Client) -> None:
    _, answer = make_branch(make_conversation(), 2)
    generation = make_generation(answer, Generation.State.FAILED, error_code="deadline")
    start = generation.created_at
    Generation.objects.update(
        claimed_at=start + timedelta(seconds=1),
        first_token_at=start + timedelta(seconds=2.5),
        finished_at=start + timedelta(seconds=10),
        request={"messages": ["a secret"]},
    )
    page = admin.get(f"/admin/chat/generation/{generation.pk}/change/").content.decode()
    for shown in ("failed", "deadline", "1.00 s", "2.50 s", "10.00 s"):
        assert shown in page
    assert "a secret" not in page


@pytest.mark.parametrize(
    "where", ["accounts/user/", "chat/generation/", "chat/conversation/", "accounts/usageentry/"]
)
@pytest.mark.parametrize("query", ["", "?q=ada@example.org"])
def test_long_lists_are_never_counted(admin: Client, where: str, query: str) -> None:
    for _ in range(12):
        make_generation(make_branch(make_conversation(), 2)[1])
    with CaptureQueriesContext(connection) as queries:
        assert admin.get(f"/admin/{where}{query}").status_code == 200
    statements = [query["sql"] for query in queries]
    assert not [sql for sql in statements if re.search(r"count\(", sql, re.IGNORECASE)]
    assert len(statements) <= 6


def test_the_policy_is_wider_for_the_admin_only(admin: Client) -> None:
    assert "'unsafe-eval'" in admin.get("/admin/")["Content-Security-Policy"]
    for url in ("/api/v1/me", "/api/v1/docs", "/_allauth/browser/v1/config"):
        policy = admin.get(url)["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
