"""What allauth asks us about people: which emails and passwords may be.

Texts that can't be stored or hashed are refused here, before they break further down.
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.models import EMAIL_MAX_CHARS, User, is_hashable


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is not checked
    """Allauth's own, stricter."""

    def clean_email(self, email: str) -> str:
        """The address. Raises ValidationError where allauth would cut it to fit."""
        if len(email) > EMAIL_MAX_CHARS:
            raise ValidationError(f"An email has at most {EMAIL_MAX_CHARS} characters.", code="max_length")
        return str(super().clean_email(email))

    def clean_password(self, password: str, user: User | None = None) -> str:
        """The password, which may become somebody's. Raises ValidationError."""
        if not is_hashable(password):
            raise ValidationError("The password has characters that are none.", code="invalid")
        return str(super().clean_password(password, user))

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """The person, if the password is theirs."""
        if not is_hashable(str(credentials.get("password", ""))):
            return None
        user: User | None = super().authenticate(request, **credentials)
        return user
