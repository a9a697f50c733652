"""What the tests set differently; the stores' addresses come from tests/conftest.py through the environment."""

import os

os.environ.setdefault("PARLEY_ENV", "development")
os.environ.setdefault("DATABASE_URL", "postgres://parley@127.0.0.1:1/parley")
os.environ.setdefault("VALKEY_URL", "redis://127.0.0.1:1/0")

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
ACCOUNT_RATE_LIMITS = False
