"""`manage.py prepare_database`: migrations, then an administrator if one is asked for and not there."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connection

from config import env
from config.administrator import ensure

# Any number, as long as every release has the same.
MIGRATIONS_LOCK = 7_275_539


class Command(BaseCommand):
    """Safe to run again at every start."""

    help = "Applies migrations; --admin EMAIL makes that administrator, with the password in ADMIN_PASSWORD."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--admin", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            # Two that start at once migrate one after the other; the lock goes with the connection at the latest.
            cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATIONS_LOCK])
        try:
            call_command("migrate", interactive=False, verbosity=options["verbosity"])
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATIONS_LOCK])
        if not options["admin"]:
            return
        try:
            password = env.text("ADMIN_PASSWORD")
        except env.SettingError as error:
            raise CommandError(str(error)) from None
        if ensure(options["admin"], password):
            self.stdout.write(f"Made the administrator {options['admin']}.")
