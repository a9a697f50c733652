"""REST for turns and the answers they begin: each call is one function of chat/turns.py."""

import dataclasses
import uuid

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import access, place, turns
from chat.rest import serializers as shapes
from chat.rest.body import read
from chat.rest.schema import IDEMPOTENCY_KEY, TURN_REFUSED, refusals
from chat.rest.views import person
from chat.writing import Turn


def begun(turn: Turn) -> Response:
    """202: the answer is still to come, at `events`."""
    fields = {**dataclasses.asdict(turn), "events": f"/api/v1/generations/{turn.generation}/events"}
    return Response(shapes.TurnOut(fields).data, status=status.HTTP_202_ACCEPTED)


class Turns(APIView):
    """Sending."""

    @extend_schema(
        operation_id="send",
        request=shapes.Send,
        parameters=[IDEMPOTENCY_KEY],
        responses=refusals(shapes.TurnOut, *TURN_REFUSED, status=202),
    )
    def post(self, request: Request) -> Response:
        """Send a message; its answer is queued and comes as events."""
        return begun(turns.begin(person(request), **read(shapes.Send, request)))


class EditMessage(APIView):
    """Another version of a user message."""

    @extend_schema(
        operation_id="edit",
        request=shapes.Edit,
        parameters=[IDEMPOTENCY_KEY],
        responses=refusals(shapes.TurnOut, *TURN_REFUSED, status=202),
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """A sibling of this user message with another text, and an answer to it."""
        return begun(turns.edit(person(request), message=pk, **read(shapes.Edit, request)))


class RegenerateMessage(APIView):
    """Another version of an answer."""

    @extend_schema(
        operation_id="regenerate",
        request=shapes.Regenerate,
        parameters=[IDEMPOTENCY_KEY],
        responses=refusals(shapes.TurnOut, *TURN_REFUSED, status=202),
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """A sibling of this assistant message."""
        return begun(turns.regenerate(person(request), message=pk, **read(shapes.Regenerate, request)))


class ContinueMessage(APIView):
    """More of an answer that was stopped or cut short."""

    @extend_schema(
        operation_id="continue",
        request=shapes.Continue,
        parameters=[IDEMPOTENCY_KEY],
        responses=refusals(shapes.TurnOut, *TURN_REFUSED, status=202),
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """A new generation of the same assistant message, from the text that stands."""
        return begun(turns.resume(person(request), message=pk, **read(shapes.Continue, request)))


class GenerationView(APIView):
    """One answer."""

    @extend_schema(operation_id="getGeneration", responses=refusals(shapes.GenerationWithPlace, 404))
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """How an answer stands."""
        generation = access.generation(person(request), pk)
        stands = place.of(generation)
        shown = {"place": stands and stands.place, "expected_wait_s": stands and stands.wait_s}
        return Response({**shapes.GenerationOut(generation).data, **shown})


class StopGeneration(APIView):
    """Stopping."""

    @extend_schema(
        operation_id="stop", request=None, responses=refusals(shapes.Stopping, 400, 404, status=202)
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Ask an answer to stop; the text released before stays. Again is the same as once."""
        read(shapes.Nothing, request)
        state = turns.stop(person(request), pk)
        return Response(shapes.Stopping({"pk": pk, "state": state}).data, status=status.HTTP_202_ACCEPTED)
