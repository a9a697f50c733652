"""Every refusal: its code, its status, and its form on each surface. One table for all of them.

    ChatError
      NotFound             what is not yours is not there
      Invalid              fields that break a rule (one or many)
      AnswerRunning        the parent is still being answered
      ClientIdReused       the same client id with another body
      NotResumable         the answer can't be continued
      Overloaded           no room in time
      NotSignedIn          no session, or it ended
      BadFrame             a socket message that is none

Exceptions carry data and know no HTTP; `describe` gives the problem, `problem_response` is DRF's door to it.
"""

from dataclasses import asdict, dataclass
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from accounts import errors as account_errors

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that breaks a rule; `limit` is the number it broke."""

    field: str
    reason: str
    limit: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Without the limit where there is none."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class ChatError(Exception):
    """A refusal in words."""

    code = "refused"
    status = 400
    title = "Refused"
    detail = "The request was refused."
    retry_after_s: int | None = None

    def __init__(self, detail: str | None = None, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(detail or self.detail)
        self.errors = errors


class NotFound(ChatError):
    code = "not_found"
    status = 404
    title = "Not found"
    detail = "There is no such thing here, or it is not yours."


class Invalid(ChatError):
    code = "invalid"
    status = 400
    title = "Invalid request"
    detail = "Some fields are not valid; `errors` names them."


class AnswerRunning(ChatError):
    code = "answer_running"
    status = 409
    title = "An answer is running"
    detail = "The message you reply to is still being answered. Wait for the end or stop it, then send again."


class ClientIdReused(ChatError):
    code = "client_id_reused"
    status = 422
    title = "Client id used before"
    detail = "This client_id was used for a different request. Use a new one for a new turn."


class NotResumable(ChatError):
    code = "not_resumable"
    status = 409
    title = "Nothing to continue"
    detail = "Only an answer that was stopped or cut short can be continued. Regenerate it instead."


class Overloaded(ChatError):
    code = "overloaded"
    status = 503
    title = "No room right now"
    detail = "All replicas are busy. Try again in a few seconds."

    def __init__(self, retry_after_s: int) -> None:
        super().__init__()
        self.retry_after_s = retry_after_s


class NotSignedIn(ChatError):
    code = "not_signed_in"
    status = 401
    title = "Not signed in"
    detail = "Sign in, or send a valid token: the session is missing or has ended."


class BadFrame(ChatError):
    code = "bad_frame"
    status = 400
    title = "Not a message of this protocol"
    detail = "The frame is not a JSON object with a known `type`. docs/api.md lists them."


def describe(error: ChatError) -> dict[str, Any]:
    """The RFC 9457 problem, the same on every surface."""
    problem: dict[str, Any] = {
        "type": f"/docs/errors#{error.code}",
        "title": error.title,
        "status": error.status,
        "code": error.code,
        "detail": str(error),
    }
    if error.errors:
        problem["errors"] = [field.as_json() for field in error.errors]
    if error.retry_after_s is not None:
        problem["retry_after_s"] = error.retry_after_s
    return problem


class _Foreign(ChatError):
    """A refusal of Django's or DRF's own, in our form."""

    def __init__(
        self, status: int, code: str, title: str, detail: str, errors: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(detail, errors=errors)
        self.status, self.code, self.title = status, code, title


def from_exception(error: Exception) -> ChatError | None:
    """Any known refusal as ours; None for a fault, which must stay one."""
    match error:
        case ChatError():
            return error
        case Http404():
            return NotFound()
        case PermissionDenied() | exceptions.PermissionDenied():
            return _Foreign(403, "forbidden", "Not allowed", str(error) or "You may not do this.")
        case (
            exceptions.NotAuthenticated()
            | exceptions.AuthenticationFailed()
            | account_errors.NotAuthenticated()
        ):
            return NotSignedIn()
        case exceptions.ValidationError():
            return Invalid(errors=tuple(_field_errors(error.detail)))
        case exceptions.APIException():
            code = str(error.default_code)
            return _Foreign(error.status_code, code, code.replace("_", " ").capitalize(), str(error.detail))
    return None


def _field_errors(detail: Any, field: str = "") -> list[FieldError]:
    if isinstance(detail, dict):
        return [
            e
            for name, inner in detail.items()
            for e in _field_errors(inner, f"{field}.{name}" if field else name)
        ]
    if isinstance(detail, list):
        return [e for inner in detail for e in _field_errors(inner, field)]
    return [FieldError(field or "body", str(detail))]


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler."""
    known = from_exception(error)
    if known is None:
        return None
    response = Response(describe(known), status=known.status, content_type="application/problem+json")
    if known.retry_after_s is not None:
        response["Retry-After"] = str(known.retry_after_s)
    if known.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response
