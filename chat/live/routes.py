"""Where sockets go; an unknown path is closed in words, not with a stack trace."""

from channels.generic.websocket import AsyncWebsocketConsumer
from django.urls import path, re_path

from chat.live.consumer import ChatConsumer

NO_SUCH_PATH = 4404


class NoSuchPath(AsyncWebsocketConsumer):
    """Closes with 4404."""

    async def connect(self) -> None:
        """Accept first, so that the code arrives."""
        await self.accept()
        await self.close(NO_SUCH_PATH)


urlpatterns = [path("ws/v1/", ChatConsumer.as_asgi()), re_path(r"", NoSuchPath.as_asgi())]
