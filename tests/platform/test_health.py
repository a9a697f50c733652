"""What machines ask: alive, ready, metrics."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from django.db import connection
from django.test import AsyncClient, Client
from pytest_django.fixtures import Settings

from chat.models import Dispatcher
from config import health
from config.embedded import ports


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_kept", None)
    monkeypatch.setattr(health, "_migrated", False)


@pytest.fixture
async def replica_url() -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    application = web.Application()
    application.router.add_get("/health", answer)
    async with TestServer(application) as server:
        yield str(server.make_url("")).rstrip("/")


def use_catalogue(settings: Settings, tmp_path: Path, url: str) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_text(
        '[[models]]\nid = "m"\nname = "M"\nversion = "1"\ncontext_length = 100\nmax_tokens = 50\n'
        f'[[models.replicas]]\nid = "r"\nurl = "{url}"\nmax_running = 1\n'
    )
    settings.CATALOGUE = str(path)


async def ready() -> tuple[int, dict[str, Any]]:
    response = await AsyncClient().get("/readyz")
    return response.status_code, response.json()["parts"]


def age_heartbeats() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chat_dispatcher SET heartbeat_at = now() - interval '4 seconds'")


def test_alive_asks_no_store_and_no_host(client: Client) -> None:
    response = client.get("/healthz", headers={"host": "10.1.2.3"})
    assert response.json() == {"status": "ok"}


def test_a_probe_is_not_sent_to_https(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz").status_code == 200
    assert client.get("/login").status_code == 301


@pytest.mark.django_db(transaction=True)
async def test_ready_when_an_answer_could_stream(
    settings: Settings, tmp_path: Path, replica_url: str
) -> None:
    use_catalogue(settings, tmp_path, replica_url)
    await Dispatcher.objects.acreate()
    parts = ("database", "migrations", "valkey", "dispatcher", "replica")
    assert await ready() == (200, dict.fromkeys(parts, "ok"))


@pytest.mark.django_db(transaction=True)
async def test_not_ready_says_which_part(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    use_catalogue(settings, tmp_path, f"http://127.0.0.1:{ports.free()}")
    settings.VALKEY_URL = f"redis://127.0.0.1:{ports.free()}/0"
    await Dispatcher.objects.acreate()
    await asyncio.to_thread(_in_thread, age_heartbeats)
    status, parts = await ready()
    assert status == 503
    assert parts == {
        "database": "ok",
        "migrations": "ok",
        "valkey": "no: ConnectionError",
        "dispatcher": "none has a heartbeat",
        "replica": "none answers /health",
    }
    assert "/readyz" not in caplog.text  # a line for each probe would bury the others


def _in_thread(do: Any) -> None:
    try:
        do()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
async def test_a_catalogue_that_is_not_there_is_not_ready(settings: Settings, tmp_path: Path) -> None:
    settings.CATALOGUE = str(tmp_path / "none.toml")
    status, parts = await ready()
    assert (status, parts["replica"]) == (503, "no: CatalogueError")


@pytest.mark.django_db(transaction=True)
async def test_many_questions_are_one_look(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    async def look(check: health.Part) -> str:
        nonlocal looks
        looks += 1
        return "ok"

    monkeypatch.setattr(health, "_look", look)
    for _ in range(5):
        await ready()
    assert looks == 5  # the parts, once


@pytest.mark.parametrize(
    ("token", "headers", "address", "status"),
    [
        ("", {}, "127.0.0.1", 200),
        ("", {}, "192.0.2.1", 403),
        ("", {"x-forwarded-for": "192.0.2.1"}, "127.0.0.1", 403),
        ("of-the-scraper", {}, "127.0.0.1", 403),
        ("of-the-scraper", {"authorization": "Bearer other"}, "127.0.0.1", 403),
        ("of-the-scraper", {"authorization": "Bearer of-the-scraper"}, "192.0.2.1", 200),
    ],
)
def test_metrics_are_for_the_scraper(
    client: Client, settings: Settings, token: str, headers: dict[str, str], address: str, status: int
) -> None:
    settings.METRICS_TOKEN = token
    response = client.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert response.status_code == status
    assert (b"parley_http_requests_total" in response.content) == (status == 200)
