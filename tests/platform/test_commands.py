"""Commands and the Celery app: the administrator, the trial turn's traces, the log."""

import logging
import subprocess
import sys

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from accounts.models import User
from config import trial
from config.embedded import ports
from config.management.commands import prepare_database
from tests.rig import ROOT, START_S, stores_environment, wait_for


@pytest.mark.django_db
def test_the_administrator_is_made_once_and_gets_in(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "long-and-random-1")
    call_command("prepare_database", admin="Admin@localhost", verbosity=0)
    monkeypatch.setenv("ADMIN_PASSWORD", "another-password-2")
    call_command("prepare_database", admin="admin@localhost", verbosity=0)
    user = User.objects.get()
    assert (user.email, user.is_superuser) == ("admin@localhost", True)
    assert user.check_password("long-and-random-1")
    assert EmailAddress.objects.get(user=user).verified
    form = {"username": "admin@localhost", "password": "long-and-random-1", "next": "/admin/"}
    assert client.post("/admin/login/", form).status_code == 302
    assert client.get("/admin/").status_code == 200


@pytest.mark.django_db
def test_an_administrator_needs_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADMIN_PASSWORD", raising=False)
    with pytest.raises(CommandError, match="ADMIN_PASSWORD"):
        call_command("prepare_database", admin="admin@localhost", verbosity=0)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_a_trial_that_fails_says_so_and_leaves_nobody() -> None:
    User.objects.create_user(f"killed@{trial.DOMAIN}")
    with pytest.raises(CommandError, match="No answer from"):
        call_command("try_answer", f"http://127.0.0.1:{ports.free()}")
    assert not User.objects.exists()


def test_celery_is_ours_and_leaves_the_log_alone() -> None:
    from celery import current_app

    from config.celery import app

    assert current_app.main == app.main == "parley"
    handlers = logging.getLogger().handlers[:]
    app.log.setup(loglevel="INFO", redirect_stdouts=False)
    assert logging.getLogger().handlers == handlers


@pytest.mark.django_db(transaction=True)
def test_of_two_that_migrate_at_once_one_waits() -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [prepare_database.MIGRATIONS_LOCK])
        command = [sys.executable, "manage.py", "prepare_database"]
        environment = {**stores_environment(), "DJANGO_SETTINGS_MODULE": "config.settings"}
        second = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: cursor.execute(waiting).fetchone() != (0,), "it to wait", START_S)
            assert second.poll() is None
            cursor.execute("SELECT pg_advisory_unlock(%s)", [prepare_database.MIGRATIONS_LOCK])
            assert second.wait(START_S) == 0
        finally:
            second.kill()
            second.wait()
