"""Who is signed in, for the web UI and for programs."""

from typing import cast

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User


@extend_schema_serializer(component_name="Person")
class PersonOut(serializers.ModelSerializer[User]):
    """A person, to themselves."""

    class Meta:
        model = User
        fields = ("pk", "email", "is_staff")
        read_only_fields = fields


class Me(APIView):
    """The person who asks."""

    @extend_schema(operation_id="me", responses=PersonOut)
    def get(self, request: Request) -> Response:
        """Who is signed in; 401 when nobody is."""
        return Response(PersonOut(cast(User, request.user)).data)
