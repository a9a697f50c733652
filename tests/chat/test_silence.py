"""A socket whose other side is gone without a word (power off, standby) is closed and forgotten."""

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from chat.live import consumer
from tests.factories.accounts import make_user, session_token


@pytest.mark.django_db(transaction=True)
async def test_a_socket_that_falls_silent_is_closed_and_its_place_freed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = await sync_to_async(lambda: session_token(make_user()))()
    headers = [(b"authorization", f"Bearer {token}".encode())]
    socket = WebsocketCommunicator(consumer.ChatConsumer.as_asgi(), "/ws/v1/", headers=headers)
    assert (await socket.connect())[0]
    assert (await socket.receive_json_from(timeout=20))["ping_s"] <= 15
    assert sum(consumer._sockets.values()) == 1
    monkeypatch.setattr(consumer, "SILENCE_S", 0)
    closed = await socket.receive_output(timeout=20)
    assert (closed["type"], closed["code"]) == ("websocket.close", consumer.PING_LOST)
    await socket.disconnect(timeout=20)
    assert not consumer._sockets
