"""What the tests set differently; the stores' addresses come from tests/stores.py."""

import os

from tests import stores

os.environ.setdefault("PARLEY_ENV", "development")
STARTS_STORES = stores.choose_addresses()

from config.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
ACCOUNT_RATE_LIMITS = False
WHITENOISE_AUTOREFRESH = True  # else every test client lists all files first
