"""Paths, versions and branches of trees of any shape."""

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat import tree
from chat.models import Conversation, Message
from tests.factories.chat import make_branch, make_conversation, make_generation, make_message

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> Conversation:
    return make_conversation()


def test_a_path_is_cut_at_its_far_end(conversation: Conversation) -> None:
    path = make_branch(conversation, 6)
    assert tree.path_to(path[-1].pk, 4) == path[2:]
    assert tree.path_to(path[3].pk, 50) == path[:4]
    assert tree.path_to(None, 50) == []


def test_random_trees_agree_with_a_walk_by_hand(conversation: Conversation) -> None:
    chance = random.Random(7)
    nodes: list[Message] = []
    for _ in range(120):
        parent = chance.choice([*nodes, None, None]) if nodes else None
        nodes.append(make_message(conversation, parent, role=Message.Role.USER))
    by_pk = {node.pk: node for node in nodes}
    make_branch(make_conversation(), 5)  # somebody else's, which must not appear
    versions = tree.siblings(nodes)
    for node in nodes:
        walk, above = [], node
        while above is not None:
            walk.append(above)
            above = by_pk[above.parent_id] if above.parent_id else None
        assert tree.path_to(node.pk, 200) == walk[::-1]
        assert versions[node.pk] == [n.pk for n in nodes if n.parent_id == node.parent_id]
        assert tree.branch(conversation, node) == _newest_leaf(nodes, node)


def _newest_leaf(nodes: list[Message], top: Message) -> Message:
    parents = {node.parent_id for node in nodes}
    below = {top.pk}
    for node in nodes:  # children come after their parents
        if node.parent_id in below:
            below.add(node.pk)
    return [node for node in nodes if node.pk in below and node.pk not in parents][-1]


def test_the_newest_leaf_is_a_leaf_even_where_a_parent_is_younger(conversation: Conversation) -> None:
    question, answer = make_branch(conversation, 2)
    Message.objects.filter(pk=answer.pk).update(created_at="2020-01-01T00:00:00Z")
    assert tree.branch(conversation, question) == answer


def test_each_message_has_its_newest_generation_in_one_statement(conversation: Conversation) -> None:
    path = make_branch(conversation, 10)
    newest = {}
    for message in path[1::2]:
        make_generation(message)
        newest[message.pk] = make_generation(message)
    with CaptureQueriesContext(connection) as queries:
        assert tree.latest_generations(path) == newest
    assert len(queries) == 1
