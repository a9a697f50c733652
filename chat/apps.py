"""Conversations and answers: the product."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Hear what accounts have to tell those who keep sockets open."""
        from accounts.signals import sessions_ended
        from chat import notices

        sessions_ended.connect(notices.tell_sessions_ended, dispatch_uid="chat.notices")
