"""What the OpenAPI document says beyond the serializers: refusals, sign-in, the idempotency header."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="Serves as `client_id`; both must agree."
)
REFUSED = {
    400: "A field breaks a rule; `errors` names it.",
    404: "It is not there, or not yours.",
    409: "Not now: an answer is running, or there is nothing to continue.",
    413: "The body is over the limit.",
    415: "The body is not JSON.",
    422: "The client id was used for a different request.",
    429: "Too fast or too much; come back after `retry_after_s`.",
    503: "No room; come back after `retry_after_s`.",
}
TURN_REFUSED = (400, 404, 409, 413, 415, 422, 429, 503)


class Broken(serializers.Serializer[Any]):
    """One field that breaks a rule."""

    field = serializers.CharField(read_only=True)
    reason = serializers.CharField(read_only=True)
    limit = serializers.IntegerField(required=False)


class Problem(serializers.Serializer[Any]):
    """RFC 9457: what was refused, and what to do. Codes are in docs/errors.md."""

    type = serializers.CharField(read_only=True)
    title = serializers.CharField(read_only=True)
    status = serializers.IntegerField(read_only=True)
    code = serializers.CharField(read_only=True)
    detail = serializers.CharField(read_only=True)
    errors = Broken(many=True, required=False)  # type: ignore[assignment]  # not the property
    retry_after_s = serializers.IntegerField(required=False)


def refusals(answer: Any, *codes: int, status: int = 200) -> dict[Any, Any]:
    """The responses of a call: its answer, and a problem for each code; 401 is always one."""
    problems: dict[Any, Any] = {
        (code, "application/problem+json"): OpenApiResponse(Problem, REFUSED[code]) for code in codes
    }
    signed_out = OpenApiResponse(Problem, "Signed out.")
    return {status: answer, (401, "application/problem+json"): signed_out, **problems}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token of an app."""

    target_class = "accounts.authentication.BearerSession"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """HTTP bearer."""
        return {"type": "http", "scheme": "bearer", "description": "meta.session_token of the app log-in"}


class CookieScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The cookie of a browser."""

    target_class = "accounts.authentication.BrowserSession"
    name = "cookie"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """The session cookie; writes need X-CSRFToken too."""
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


EVENTS_PATH = "/api/v1/generations/{pk}/events"


def with_events(result: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Adds the stream of an answer's events, which is no DRF view: a postprocessing hook of drf-spectacular."""
    pk = {"in": "path", "name": "pk", "required": True, "schema": {"type": "string", "format": "uuid"}}
    last = {
        "in": "header",
        "name": "Last-Event-ID",
        "schema": {"type": "string"},
        "description": "Go on after this id, `attempt-n`.",
    }
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refused = {
        str(code): {"content": problem, "description": words} for code, words in EVENTS_REFUSED.items()
    }
    events = {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "docs/api.md"}
    result["paths"][EVENTS_PATH] = {
        "get": {
            "operationId": "followGeneration",
            "description": "The events of the answer as they come, from the first or after Last-Event-ID.",
            "parameters": [pk, last],
            "security": [{"bearer": []}, {"cookie": []}],
            "responses": {"200": events, **refused},
        }
    }
    return result


EVENTS_REFUSED = {400: REFUSED[400], 401: "Signed out.", 404: REFUSED[404]}
