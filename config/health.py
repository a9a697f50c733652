"""What machines ask: /healthz (this process lives), /readyz (an answer could stream), /metrics.

Cheap and without secrets: no session, no user, nothing that a stranger could load the service with.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hmac import compare_digest

import aiohttp
import redis.asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from chat.models import Dispatcher
from inference import catalogue
from inference.errors import CatalogueError

PROBE_S = 1.0
KEPT_S = 1.0

Part = Callable[[], Awaitable[str]]
_kept: tuple[float, dict[str, str]] | None = None
_migrated = False


async def healthz(request: HttpRequest) -> HttpResponse:
    """200 while this process can answer at all; asks no store."""
    return JsonResponse({"status": "ok"})


async def readyz(request: HttpRequest) -> HttpResponse:
    """200 if a turn could be answered now, else 503; either way each part in words."""
    parts = await _parts()
    ready = all(words == "ok" for words in parts.values())
    return JsonResponse({"ready": ready, "parts": parts}, status=200 if ready else 503)


async def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus's text, for whoever has METRICS_TOKEN; without one, for this machine only."""
    if not _may_read_metrics(request):
        return HttpResponse("Set METRICS_TOKEN and send it as a bearer token.\n", "text/plain", status=403)
    return HttpResponse(await asyncio.to_thread(generate_latest), CONTENT_TYPE_LATEST)


def _may_read_metrics(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
    # Behind a proxy everybody comes from this machine.
    is_proxied = {"X-Forwarded-For", "Forwarded", "X-Real-Ip"} & set(request.headers)
    return request.META.get("REMOTE_ADDR") in {"127.0.0.1", "::1"} and not is_proxied


async def _parts() -> dict[str, str]:
    global _kept
    if _kept is None or time.monotonic() - _kept[0] > KEPT_S:
        checks: dict[str, Part] = {
            "database": sync_to_async(_database),
            "migrations": sync_to_async(_migrations),
            "valkey": _valkey,
            "dispatcher": sync_to_async(_dispatcher),
            "replica": _replica,
        }
        words = await asyncio.gather(*(_look(check) for check in checks.values()))
        _kept = time.monotonic(), dict(zip(checks, words, strict=True))
    return _kept[1]


async def _look(check: Part) -> str:
    try:
        async with asyncio.timeout(3 * PROBE_S):
            return await check()
    except (DatabaseError, redis.RedisError, CatalogueError, OSError, TimeoutError) as error:
        return f"no: {type(error).__name__}"


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _migrations() -> str:
    global _migrated  # reading the plan takes a while, and it never grows while a process runs
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "ok" if _migrated else "some are not applied: run manage.py migrate"


async def _valkey() -> str:
    async with redis.asyncio.Redis.from_url(settings.VALKEY_URL, socket_timeout=PROBE_S) as client:
        await client.ping()
    return "ok"


def _dispatcher() -> str:
    # By the database's clock, as the lease itself.
    lease = timedelta(seconds=settings.LEASE_S)
    alive = Dispatcher.objects.filter(heartbeat_at__gt=Now() - lease)
    return "ok" if alive.exists() else "none has a heartbeat"


async def _replica() -> str:
    urls = {replica.url for replica in catalogue.current().replicas}
    timeout = aiohttp.ClientTimeout(total=PROBE_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        answers = await asyncio.gather(*(_is_up(session, url) for url in urls))
    return "ok" if any(answers) else "none answers /health"


async def _is_up(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}/health") as response:
            return response.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
