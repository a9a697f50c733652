"""Every refusal: its code, its status, and its form on each surface. One table for all of them.

    ChatError
      NotFound             what is not yours is not there
      Invalid              fields that break a rule (one or many)
      AnswerRunning        the parent is still being answered
      ClientIdReused       the same client id with another body
      NotResumable         the answer can't be continued
      Overloaded           no room in time
      Unavailable          the database is away
      NotSignedIn          no session, or it ended
      TooLarge             a body over the limit
      BadFrame             a socket message that is none

Exceptions carry data and know no HTTP; `describe` gives the problem, `problem_response` is DRF's door to it.
"""

from dataclasses import asdict, dataclass
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import csrf, defaults
from psycopg.errors import ForeignKeyViolation
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


class Unavailable(ChatError):
    code = "unavailable"
    status = 503
    title = "Not available right now"
    detail = "The database can't be reached. Nothing was written; try again in a few seconds."
    retry_after_s = 2


class NotSignedIn(ChatError):
    code = "not_signed_in"
    status = 401
    title = "Not signed in"
    detail = "Sign in, or send a valid token: the session is missing or has ended."


class TooLarge(ChatError):
    code = "too_large"
    status = 413
    title = "Too large"
    detail = "The body is larger than this server takes; `errors` has the limit in bytes."

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(errors=(FieldError("body", "It has too many bytes.", limit_bytes),))


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


API_PREFIXES = ("/api/", "/_allauth/")
# What Django and DRF refuse by themselves: codes by status, as they are in docs/errors.md.
FOREIGN_CODES = {
    400: "parse_error",
    403: "forbidden",
    405: "method_not_allowed",
    406: "not_acceptable",
    415: "unsupported_media_type",
    429: "throttled",
    500: "server_error",
}


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
        case IntegrityError() if isinstance(error.__cause__, ForeignKeyViolation):
            # What the row refers to was deleted while it was written.
            return NotFound()
        case OperationalError() | InterfaceError():
            return Unavailable()
        case RequestDataTooBig():
            return TooLarge(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
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
            code = FOREIGN_CODES.get(error.status_code, str(error.default_code))
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


def problem(error: ChatError) -> HttpResponse:
    """The problem as a plain Django response, for what fails outside of DRF."""
    return JsonResponse(describe(error), status=error.status, content_type="application/problem+json")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: a problem for API calls, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    return problem(
        from_exception(exception)
        or _Foreign(400, "bad_request", "Bad request", "The request is malformed and was not read.")
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403: a problem for API calls, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.permission_denied(request, exception)
    return problem(
        from_exception(exception) or _Foreign(403, "forbidden", "Not allowed", "You may not do this.")
    )


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404: a problem for API calls, Django's page elsewhere."""
    return problem(NotFound()) if _is_api(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500: a problem for API calls that says nothing of the fault, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.server_error(request)
    return problem(
        _Foreign(500, "server_error", "Our fault", "Something broke here. It was recorded; try again later.")
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: a problem where programs and the web UI call, Django's page elsewhere."""
    if not _is_api(request):
        return csrf.csrf_failure(request, reason=reason)
    return problem(_Foreign(403, "forbidden", "Not allowed", f"CSRF check failed: {reason}"))


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith(API_PREFIXES)
