"""Metrics of the web's HTTP side; each app has its own beside its code. All names: docs/operations.md.

Labels are route patterns and status classes, never paths: a path holds keys and grows without bound.
"""

from prometheus_client import Counter, Histogram

REQUESTS = Counter("parley_http_requests_total", "HTTP requests answered", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "parley_http_request_seconds",
    "Time until an HTTP response begins",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def answered(method: str, route: str, status: int, took_s: float) -> None:
    """Counts one response."""
    method = method if method in METHODS else "OTHER"
    REQUESTS.labels(method, route, f"{status // 100}xx").inc()
    REQUEST_SECONDS.labels(method, route).observe(took_s)
