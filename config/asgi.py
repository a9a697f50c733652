"""The door: HTTP to Django, sockets to Channels."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
http = get_asgi_application()  # before anything that needs the app registry

from chat.live.routes import urlpatterns  # noqa: E402
from config import close_codes  # noqa: E402

close_codes.allow()
application = ProtocolTypeRouter({"http": http, "websocket": URLRouter(urlpatterns)})
