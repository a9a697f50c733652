"""One real turn, from outside: sign-in, question, stream. For `make up` and for whoever operates Parley.

Goes through the public interface only, but for the user, whom it makes and removes.
"""

import json
import secrets
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from django.conf import settings

from accounts.models import User

DOMAIN = "trial.invalid"  # never a real address (RFC 2606)
WAIT_S = 60


class NoAnswer(Exception):
    """What went wrong, in words."""


def run(url: str) -> float:
    """Seconds until the first words of an answer; raises NoAnswer. Nothing of it stays in the database."""
    User.objects.filter(email__endswith=f"@{DOMAIN}").delete()  # of a trial that was killed
    email, password = f"{uuid.uuid4()}@{DOMAIN}", secrets.token_urlsafe(16)
    user = User.objects.create_user(email, password)
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    try:
        return _ask(url, email, password)
    except (OSError, HTTPException, ValueError, KeyError) as error:
        raise NoAnswer(f"No answer from {url}: {error!r}") from error
    finally:
        user.delete()


def _ask(url: str, email: str, password: str) -> float:
    login = _call(url, "POST", "/_allauth/app/v1/auth/login", {"email": email, "password": password})
    token = login["meta"]["session_token"]
    try:
        return _turn(url, token)
    finally:
        import_module(settings.SESSION_ENGINE).SessionStore(token).delete()  # no row of the user's own


def _turn(url: str, token: str) -> float:
    began = time.monotonic()
    turn = {"client_id": str(uuid.uuid4()), "conversation": None, "parent": None, "text": "Say hello."}
    accepted = _call(url, "POST", "/api/v1/turns", turn, token)
    pk = accepted["generation"]
    with _open(url, "GET", f"/api/v1/generations/{pk}/events", None, token) as stream:
        events = _events(stream)
        took_s = _first_words(events, began)
        _call(url, "POST", f"/api/v1/generations/{pk}/stop", {}, token)
        if not any(event["type"] == "done" for event in events):
            raise NoAnswer("The stream broke off before the end of the answer.")
    return took_s


def _first_words(events: Iterator[dict[str, Any]], began: float) -> float:
    for event in events:
        if event["type"] == "done":
            raise NoAnswer(f"The answer ended without a word: {event['state']}, {event.get('error_code')}.")
        if event["type"] == "delta" and event["text"]:
            return time.monotonic() - began
    raise NoAnswer("The stream ended without a word.")


def _events(stream: HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in stream:
        if line.startswith(b"data:"):
            event = json.loads(line[5:])
            yield event
            if event["type"] == "done":
                return


def _call(url: str, method: str, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    with _open(url, method, path, body, token) as response:
        return dict(json.load(response))


@contextmanager
def _open(
    url: str, method: str, path: str, body: dict[str, Any] | None, token: str = ""
) -> Iterator[HTTPResponse]:
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with closing(kind(parts.netloc, timeout=WAIT_S)) as connection:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        if response.status >= 300:
            raise NoAnswer(f"{method} {path} was refused with {response.status}.")
        yield response
