"""How the admin looks: its name, its log-in form, what the sidebar offers to whom.

What can be done there is in each app's admin.py.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy


def _may(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(permission)


def _rows(title: str, icon: str, app: str, model: str) -> dict[str, Any]:
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{model}_changelist"),
        "permission": _may(f"{app}.view_{model}"),
    }


UNFOLD = {
    "SITE_TITLE": "Parley",
    "SITE_HEADER": "Parley",
    "SITE_SYMBOL": "forum",
    "SITE_URL": "/",
    "LOGIN": {"form": "accounts.admin_login.LogInForm"},
    "SIDEBAR": {
        "show_all_applications": True,
        "navigation": [
            {
                "title": "People",
                "items": [
                    _rows("Users", "person", "accounts", "user"),
                    _rows("Organisations", "groups", "accounts", "organisation"),
                    _rows("Usage", "receipt_long", "accounts", "usageentry"),
                ],
            },
            {
                "title": "Chat",
                "items": [
                    _rows("Conversations", "forum", "chat", "conversation"),
                    _rows("Answers", "bolt", "chat", "generation"),
                    _rows("Dispatchers", "dns", "chat", "dispatcher"),
                ],
            },
            {
                "title": "Elsewhere",
                "separator": True,
                "items": [
                    {"title": "The chat", "icon": "open_in_new", "link": "/"},
                    {"title": "The API", "icon": "api", "link": reverse_lazy("docs")},
                ],
            },
        ],
    },
}
