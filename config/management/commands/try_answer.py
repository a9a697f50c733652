"""`manage.py try_answer URL`: proves from outside that an answer streams, and leaves no row behind."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from config import trial


class Command(BaseCommand):
    """What `make up` calls before it says that Parley is ready."""

    help = (
        "Signs in over HTTP as a user made for this, asks one question, reads the stream, removes the user."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", help="where the web server is, for instance http://127.0.0.1:8000")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            took_s = trial.run(options["url"])
        except trial.NoAnswer as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The first words came after {took_s:.2f} s.")
