"""The addresses of docs/api.md under /api/v1/, but for the events of an answer: chat/live/urls.py."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from chat.rest import turn_views, views

urlpatterns = [
    path("models", views.Models.as_view()),
    path("conversations", views.Conversations.as_view()),
    path("conversations/<uuid:pk>", views.ConversationView.as_view()),
    path("conversations/<uuid:pk>/messages", views.Messages.as_view()),
    path("messages/<uuid:pk>", views.MessageView.as_view()),
    path("messages/<uuid:pk>/edit", turn_views.EditMessage.as_view()),
    path("messages/<uuid:pk>/regenerate", turn_views.RegenerateMessage.as_view()),
    path("messages/<uuid:pk>/continue", turn_views.ContinueMessage.as_view()),
    path("turns", turn_views.Turns.as_view()),
    path("generations/<uuid:pk>", turn_views.GenerationView.as_view()),
    path("generations/<uuid:pk>/stop", turn_views.StopGeneration.as_view()),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    # The split view with a page of our own: no inline script and no inline style, so the CSP holds for it.
    path("docs", SpectacularSwaggerSplitView.as_view(template_name="chat/api_docs.html"), name="docs"),
]
