"""Two people, and one of them signed in."""

import pytest
from django.test import Client

from accounts.models import User
from tests.factories.accounts import make_user


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada@example.org")


@pytest.fixture
def bob(db: None) -> User:
    """Somebody else."""
    return make_user("bob@example.org")


@pytest.fixture
def api(ada: User) -> Client:
    """Ada's client."""
    client = Client()
    client.force_login(ada)
    return client
