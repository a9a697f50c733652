"""`manage.py run_dispatcher`: runs answers until SIGTERM, then hands them over."""

import asyncio
import signal
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from prometheus_client import start_http_server

from accounts.models import new_pk
from chat.lifecycle import Rows
from chat.runner import ClosingSink, Loader, transform
from chat.statements import Statements
from inference import catalogue, valkey
from inference.dispatcher import Dispatcher
from inference.engine import OpenAIEngine
from inference.registry import Registry
from inference.streams import Log

logger = structlog.get_logger(__name__)


class Command(BaseCommand):
    """Wires rows, loader, sink, engine and queue, and runs."""

    help = "Run answers: claim them from the queue, stream them from the engines, record them."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to show metrics."""
        parser.add_argument("--metrics-port", type=int, default=0, help="serve /metrics on this port")

    def handle(self, *args: Any, **options: Any) -> None:
        """Until SIGTERM or SIGINT."""
        if options["metrics_port"]:
            start_http_server(options["metrics_port"], addr="127.0.0.1")
        asyncio.run(run())


async def run() -> None:
    """One dispatcher, from its first heartbeat to the hand-over."""
    statements = Statements.connect()
    await statements.open()
    client, subscriber, engine = valkey.connect(), valkey.subscriber(), OpenAIEngine(catalogue.patience)
    owner = new_pk()
    dispatcher = Dispatcher(
        owner,
        rows=Rows(statements, settings.LEASE_S),
        load=Loader(statements, engine, Log(client)),
        transform=transform,
        sink=ClosingSink(statements),
        engine=engine,
        registry=Registry(catalogue.current().replicas, engine.healthy),
        valkey=client,
        subscriber=subscriber,
        lease_s=settings.LEASE_S,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, dispatcher.drain)
    logger.info("dispatcher_started", dispatcher=str(owner))
    try:
        await dispatcher.run()
    finally:
        await engine.close()
        await client.aclose()
        await subscriber.aclose()
        await statements.close()
    logger.info("dispatcher_stopped", dispatcher=str(owner))
