"""`manage.py prepare_database`: migrations, then an administrator if one is asked for and not there."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from config import env
from config.administrator import ensure


class Command(BaseCommand):
    """Safe to run again at every start."""

    help = "Applies migrations; --admin EMAIL makes that administrator, with the password in ADMIN_PASSWORD."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--admin", metavar="EMAIL")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=options["verbosity"])
        if not options["admin"]:
            return
        try:
            password = env.text("ADMIN_PASSWORD")
        except env.SettingError as error:
            raise CommandError(str(error)) from None
        if ensure(options["admin"], password):
            self.stdout.write(f"Made the administrator {options['admin']}.")
