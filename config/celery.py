"""Celery: work that no reader waits for. Answers are the dispatcher's, never a task."""

import os
from typing import Any

from celery import Celery, signals
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("parley")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)


@signals.setup_logging.connect  # type: ignore[untyped-decorator]
def _keep_django_logging(**_: Any) -> None:
    """Connected, it keeps Celery from replacing the JSON log."""
