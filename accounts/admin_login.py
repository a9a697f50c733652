"""The admin's log-in: by email, counted against the same limits as every other log-in."""

from typing import Any

from allauth.account.adapter import get_adapter
from unfold.forms import AuthenticationForm


class LogInForm(AuthenticationForm):  # type: ignore[misc]  # unfold has no types
    """Django's form asks the backend straight away; this one goes through allauth, which counts failures."""

    def clean(self) -> dict[str, Any]:
        """Sets the user. Raises ValidationError."""
        email, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if email and password:
            self.user_cache = get_adapter(self.request).authenticate(
                self.request, email=email, password=password
            )
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return dict(self.cleaned_data)
