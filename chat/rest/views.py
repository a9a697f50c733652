"""REST: parse, call one function of chat, render. Refusals are raised below, rendered by chat/errors.py."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import access, conversations, removal, tree
from chat.models import Conversation
from chat.rest import serializers as shapes
from chat.rest.body import read, read_query
from chat.rest.pagination import NewestFirst
from chat.rest.schema import refusals
from inference import catalogue


def person(request: Request) -> uuid.UUID:
    """The key of who asks: all that goes down from a request."""
    assert request.user.pk is not None  # noqa: S101 IsAuthenticated was asked before
    return request.user.pk


class Models(APIView):
    """What a person may choose to be answered by."""

    @extend_schema(operation_id="listModels", responses=refusals(shapes.ModelList))
    def get(self, request: Request) -> Response:
        """The models of this installation."""
        return Response(shapes.ModelList({"results": catalogue.current().models}).data)


class Conversations(ListAPIView[Conversation]):
    """A person's conversations."""

    serializer_class = shapes.ConversationOut
    pagination_class = NewestFirst

    def get_queryset(self) -> Any:
        """Theirs, and no one else's."""
        return access.conversations(person(self.request))

    @extend_schema(
        operation_id="listConversations", responses=refusals(shapes.ConversationOut(many=True), 400)
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The conversations of who asks, last changed first, 50 a page."""
        return self.list(request, *args, **kwargs)


class ConversationView(APIView):
    """One conversation."""

    @extend_schema(operation_id="getConversation", responses=refusals(shapes.ConversationOut, 404))
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One conversation."""
        return Response(shapes.ConversationOut(access.conversation(person(request), pk)).data)

    @extend_schema(
        operation_id="changeConversation",
        request=shapes.ConversationChange,
        responses=refusals(shapes.ConversationOut, 400, 404),
    )
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Rename it, or show the branch that goes through a message, down to its newest leaf."""
        changes = read(shapes.ConversationChange, request)
        return Response(shapes.ConversationOut(conversations.change(person(request), pk, **changes)).data)

    @extend_schema(operation_id="deleteConversation", request=None, responses=refusals(None, 404, status=204))
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Stop its answers and remove it for good."""
        removal.delete_conversation(person(request), pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Messages(APIView):
    """A branch of a conversation, page by page from its leaf."""

    @extend_schema(
        operation_id="listMessages",
        parameters=[shapes.PageQuery],
        responses=refusals(shapes.MessagePage, 400, 404),
    )
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """The messages nearest the leaf, oldest first, and where the ones before them are."""
        query = read_query(shapes.PageQuery, request)
        page = tree.page(access.conversation(person(request), pk), query.get("leaf"), query["limit"])
        before = f"{request.path}?leaf={page.before}&limit={query['limit']}" if page.before else None
        return Response(shapes.MessagePage({"results": page.messages, "next": before}).data)


class MessageView(APIView):
    """One message."""

    @extend_schema(operation_id="getMessage", responses=refusals(shapes.MessageOut, 404))
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One message, with all versions at its place and its last answer."""
        (shown,) = tree.shown([access.message(person(request), pk)])
        return Response(shapes.MessageOut(shown).data)
