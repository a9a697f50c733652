"""`manage.py run_encoder`: wires MiniLM into the encoder's server and runs it. The only process with torch.

Parsing and wiring only.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from inference.encoder import minilm, server


class Command(BaseCommand):
    """Serves `/v1/embeddings` until SIGTERM; it has no business with the database."""

    help = "Serves embeddings (OpenAI-shaped /v1/embeddings) on one thread until stopped."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8002)

    def handle(self, *args: Any, **options: Any) -> None:
        """Returns after a clean stop."""
        server.run(options["host"], options["port"], minilm.load)
