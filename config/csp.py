"""The content security policy: one for everything, and what the admin's own scripts need, under /admin/ only.

Its Alpine evaluates expressions in attributes and sets styles; not even there runs an inline script.
"""

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

ADMIN = {"script-src": ["'self'", "'unsafe-eval'"], "style-src": ["'self'", "'unsafe-inline'"]}


class PolicyMiddleware(CSPMiddleware):
    """Django-csp's, with more for /admin/."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The policy of the settings, widened for the admin."""
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith("/admin/"):
            parts.update = {**(parts.update or {}), **ADMIN}
        return parts
