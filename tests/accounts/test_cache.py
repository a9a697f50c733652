"""The cache is shared over Valkey, and each process's own while Valkey is away."""

from collections.abc import Callable
from typing import Any

from accounts.cache import LoseableCache
from config.embedded import ports
from tests.factories.accounts import PASSWORD, make_user


def test_two_processes_share_it(valkey_url: str) -> None:
    one, other = LoseableCache(valkey_url, {}), LoseableCache(valkey_url, {})
    one.set("key", [1.5])
    assert other.get("key") == [1.5]
    assert not other.add("key", 2)
    assert other.delete("key")
    assert one.get("key", "gone") == "gone"


def test_without_valkey_it_is_the_processs_own() -> None:
    cache = LoseableCache(f"redis://127.0.0.1:{ports.free()}/0", {})
    assert cache.add("key", 1)
    assert not cache.add("key", 2)
    assert cache.get("key") == 1
    assert cache.touch("key", 10)
    cache.clear()
    assert cache.get("key") is None


def test_people_sign_in_without_valkey(app: Callable[..., Any], settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {}
    settings.CACHES = {
        "default": {
            "BACKEND": "accounts.cache.LoseableCache",
            "LOCATION": f"redis://127.0.0.1:{ports.free()}/0",
        }
    }
    make_user("ada@example.org")
    assert app("post", "auth/login", {"email": "ada@example.org", "password": PASSWORD}).status_code == 200
