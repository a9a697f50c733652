"""What allauth's JSON calls let through: a body nested too deep is malformed, not a fault of ours.

Nothing else is caught in here; any other fault must stay one.
"""

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.deprecation import MiddlewareMixin


class DeepBodyMiddleware(MiddlewareMixin):
    """Answers as allauth answers JSON that can't be read."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """400 for a parser that gave up under /_allauth/."""
        if isinstance(exception, RecursionError) and request.path_info.startswith("/_allauth/"):
            return HttpResponseBadRequest()
        return None
