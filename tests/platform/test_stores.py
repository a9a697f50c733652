"""The stores that the tests themselves stand on."""

import asyncio

import pytest
import redis
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from accounts.models import User


@pytest.mark.django_db
def test_every_worker_has_a_database_of_its_own_with_pgvector() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), '[1,2]'::vector <-> '[1,2]'::vector")
        name, distance = cursor.fetchone()
    assert name.startswith("test_parley")
    assert distance == 0


@pytest.mark.django_db(transaction=True)
async def test_rows_are_seen_from_other_threads() -> None:
    await User.objects.acreate(email="ann@example.com")
    count = sync_to_async(User.objects.count, thread_sensitive=False)
    assert await asyncio.gather(*[count() for _ in range(4)]) == [1, 1, 1, 1]


@pytest.mark.django_db(transaction=True)
def test_rows_of_the_test_before_are_gone() -> None:
    assert User.objects.count() == 0


@pytest.mark.parametrize("turn", [1, 2])
def test_valkey_is_empty_at_the_start_of_each_test(valkey_url: str, turn: int) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0
        client.set("left", turn)


def test_settings_point_at_the_valkey_of_this_worker(valkey_url: str) -> None:
    assert valkey_url == settings.CELERY_BROKER_URL
