"""Whatever JSON is sent to a call, the answer is a turn, a change or a problem: never a fault."""

import json
from typing import Any

from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chat.models import Generation
from tests.factories.accounts import make_user
from tests.factories.chat import make_branch, make_conversation, make_generation

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT | st.uuids().map(str)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
CLIENT_IDS = st.text("abc-123", min_size=8, max_size=12) | VALUES
KNOWN = {"client_id", "text", "conversation", "parent", "model", "title", "leaf"}
BODIES = VALUES | st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(KNOWN, VALUES), "client_id": CLIENT_IDS, "other": VALUES}
)
QUERIES = st.dictionaries(
    st.sampled_from(["leaf", "limit", "cursor", "other"]), ANY_TEXT | st.integers(), max_size=2
)


class AnyBody(TestCase):
    def setUp(self) -> None:
        user = make_user()
        self.client = Client()
        self.client.force_login(user)
        conversation = make_conversation(user)
        question, answer = make_branch(conversation, 2)
        generation = make_generation(answer, Generation.State.STOPPED)
        self.writes = [
            ("POST", "turns"),
            ("PATCH", f"conversations/{conversation.pk}"),
            ("POST", f"messages/{question.pk}/edit"),
            ("POST", f"messages/{answer.pk}/regenerate"),
            ("POST", f"messages/{answer.pk}/continue"),
            ("POST", f"generations/{generation.pk}/stop"),
        ]
        self.reads = ["conversations", f"conversations/{conversation.pk}/messages"]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(BODIES, st.data())
    def test_bodies(self, body: Any, data: st.DataObject) -> None:
        method, url = data.draw(st.sampled_from(self.writes))
        sent = json.dumps(body).encode()
        self.check(self.client.generic(method, f"/api/v1/{url}", sent, "application/json"))

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(QUERIES, st.data())
    def test_queries(self, query: dict[str, Any], data: st.DataObject) -> None:
        url = data.draw(st.sampled_from(self.reads))
        clean = {name: str(value).encode("utf-8", "surrogatepass") for name, value in query.items()}
        self.check(self.client.get(f"/api/v1/{url}", clean))

    def check(self, answer: Any) -> None:
        """A success, or a problem."""
        assert answer.status_code < 500
        if answer.status_code >= 400:
            assert answer["Content-Type"] == "application/problem+json"
            assert answer.json()["status"] == answer.status_code
