"""Production refuses to start insecurely, and `check --deploy` names what is left to do."""

import os
import secrets
import subprocess
import sys

import pytest

from config.embedded.installation import ROOT

GOOD = {
    "PARLEY_ENV": "production",
    "SECRET_KEY": secrets.token_urlsafe(48),
    "PUBLIC_URL": "https://chat.example.org",
    "ALLOWED_HOSTS": "chat.example.org",
    "DATABASE_URL": "postgres://parley:secret@127.0.0.1:1/parley",
    "VALKEY_URL": "redis://:secret@127.0.0.1:1/0",
    "METRICS_TOKEN": secrets.token_urlsafe(24),
    "EMAIL_HOST": "mail.example.org",
}


def check(**settings: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = {name: value for name, value in {**kept, **GOOD, **settings}.items() if value}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_secure_environment_has_no_finding() -> None:
    done = check()
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", ""),
        ("SECRET_KEY", "short"),
        ("SECRET_KEY", "a" * 60),
        ("PUBLIC_URL", ""),
        ("PUBLIC_URL", "http://chat.example.org"),
        ("ALLOWED_HOSTS", ""),
        ("ALLOWED_HOSTS", "*"),
        ("DEBUG", "1"),
        ("DATABASE_URL", ""),
        ("VALKEY_URL", ""),
        ("DATABASE_POOL_SIZE", "many"),
    ],
)
def test_an_insecure_environment_does_not_start(name: str, value: str) -> None:
    done = check(**{name: value})
    assert done.returncode != 0
    assert name in done.stderr


def test_what_only_a_deployment_can_judge_is_found_by_name() -> None:
    wrong = {
        "PUBLIC_URL": "https://elsewhere.example.org",
        "DATABASE_URL": "postgres://parley@db.example.org/parley",
        "VALKEY_URL": "redis://valkey.example.org:6379/0",
        "METRICS_TOKEN": "",
        "EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend",
        "EMAIL_VERIFICATION": "none",
        "CATALOGUE": "/nowhere/catalogue.toml",
        "SECURE_HSTS_SECONDS": "0",
        "SECURE_SSL_REDIRECT": "off",
    }
    done = check(**wrong)
    assert done.returncode != 0
    assert [name for name in wrong if name not in done.stderr] == []


def test_development_is_no_way_to_deploy() -> None:
    done = check(PARLEY_ENV="development")
    assert done.returncode != 0
    assert "PARLEY_ENV is development" in done.stderr
