"""People, organisations and what they may use."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen for what ends sessions."""
        from accounts import sessions

        sessions.listen()
