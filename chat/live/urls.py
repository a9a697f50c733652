"""The address of an answer's events under /api/v1/; sockets are in routes.py."""

from django.urls import path

from chat.live import sse

urlpatterns = [path("generations/<uuid:pk>/events", sse.events)]
