"""The composition as a Django app: commands, checks, and the Celery app in every process."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Loaded last, when every app is there."""

    name = "config"

    def ready(self) -> None:
        """Registers the checks; makes `shared_task` use our Celery app."""
        from config import celery, checks  # noqa: F401 both register themselves
