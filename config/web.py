"""The page of the web UI: one built file for every address that the UI itself routes."""

from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Parley</title></head>
<body><h1>The web UI is not built</h1>
<p>Run <code>make up</code>, or <code>make frontend</code> and start the web server again.
The API works without it.</p></body></html>
"""


@require_safe
@never_cache
@ensure_csrf_cookie
def index(request: HttpRequest, **_: object) -> HttpResponse:
    """The UI, with the CSRF cookie it needs; says what to do if it was never built."""
    page = settings.FRONTEND_DIST / "index.html"
    try:
        changed = page.stat().st_mtime_ns
    except FileNotFoundError:
        return HttpResponse(NOT_BUILT, status=503)
    return HttpResponse(_read(page, changed))


@cache
def _read(page: Path, changed: int) -> bytes:
    return page.read_bytes()
