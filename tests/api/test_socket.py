"""What a websocket refuses, and in which words; nothing half-written, and the socket stays open where it can."""

import asyncio
import uuid

import aiohttp
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.sessions.models import Session

from chat.models import Conversation, Generation, Message
from tests.rig import Client, Rig


async def written() -> tuple[int, ...]:
    """Rows of everything that a turn writes."""
    return tuple(
        [await sync_to_async(model.objects.count)() for model in (Conversation, Message, Generation)]
    )


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", "bad_frame"),
        ("[1, 2]", "bad_frame"),
        ("{}", "bad_frame"),
        ('{"type": "dance"}', "bad_frame"),
        ('{"type": 7}', "bad_frame"),
        ("[" * 100_000, "bad_frame"),
        ('{"type": "send", "client_id": "a-client-id"}', "invalid"),
        ('{"type": "send", "client_id": "a-client-id", "text": 5}', "invalid"),
        ('{"type": "send", "client_id": "a-client-id", "text": "x", "colour": "red"}', "invalid"),
        ('{"type": "send", "client_id": "short", "text": "x"}', "invalid"),
        ('{"type": "send", "client_id": "a-client-\\u0000id", "text": "x"}', "invalid"),
        ('{"type": "send", "client_id": "a-client-\\ud83e", "text": "x"}', "invalid"),
        ('{"type": "send", "client_id": "a client id\\n", "text": "x"}', "invalid"),
        ('{"type": "send", "client_id": "a-client-id", "text": ""}', "invalid"),
        ('{"type": "send", "client_id": "a-client-id", "text": " \\n\\t\\u0000"}', "invalid"),
        ('{"type": "send", "client_id": "a-client-id", "text": "x", "model": "nobody"}', "invalid"),
        ('{"type": "send", "client_id": "a-client-id", "text": "x", "conversation": "7"}', "invalid"),
        ('{"type": "subscribe", "generation": "not-a-uuid"}', "invalid"),
    ],
)
async def test_a_frame_that_breaks_a_rule_is_answered_in_words(rig: Rig, join, frame: str, code: str):
    client = await join()
    socket = await client.socket()
    before = await written()
    await socket.connection.send_str(frame)
    answer = await socket.receive()
    assert answer["type"] in {"error", "refused"}
    assert answer["code"] == code
    assert answer["detail"]
    if code == "invalid":
        assert answer["errors"][0]["field"]
        assert answer["errors"][0]["reason"]
    await socket.tell("ping")
    assert (await socket.receive())["type"] == "pong"
    assert await written() == before


async def test_a_binary_frame_is_refused_in_words(rig: Rig, join):
    socket = await (await join()).socket()
    await socket.connection.send_bytes(b"\x00\x01")
    assert (await socket.receive())["code"] == "bad_frame"


async def test_a_message_over_the_limit_is_refused_with_the_limit(rig: Rig, join):
    socket = await (await join()).socket()
    text = "x" * (settings.MAX_MESSAGE_CHARS + 1)
    await socket.tell("send", client_id="a-client-id", text=text, ref="r9")
    refused = await socket.until("refused")
    assert refused["ref"] == "r9"
    assert refused["errors"] == [
        {"field": "text", "reason": refused["errors"][0]["reason"], "limit": settings.MAX_MESSAGE_CHARS}
    ]


async def test_a_frame_of_10_mb_closes_with_1009(rig: Rig, join):
    socket = await (await join()).socket()
    await socket.tell("send", client_id="a-client-id", text="x" * 10_000_000)
    assert await closed(socket) == 1009


async def test_nul_and_lone_surrogates_are_stored_as_what_can_be_shown(rig: Rig, join):
    client = await join()
    socket = await client.socket()
    frame = '{"type": "send", "client_id": "a-client-id", "text": "a\\u0000b \\ud83e c \\ud83e\\udd80"}'
    await socket.connection.send_str(frame)
    turn = await socket.until("accepted")
    assert await client.text(turn["message"]) == "ab \ufffd c 🦀"
    assert (await socket.read(turn["generation"])).done is not None


@pytest.mark.parametrize("kind", ["subscribe", "stop"])
async def test_an_unknown_or_foreign_generation_is_not_found(rig: Rig, join, kind: str):
    owner, other = await join(), await join()
    turn = await owner.send("hello")
    await owner.ended(turn["generation"])
    socket = await other.socket()
    for generation in (turn["generation"], str(uuid.uuid4())):
        await socket.tell(kind, generation=generation, ref="r2")
        answer = await socket.until("error")
        assert (answer["status"], answer["code"], answer["ref"]) == (404, "not_found", "r2")


async def test_foreign_conversations_and_messages_are_not_found(rig: Rig, join):
    owner, other = await join(), await join()
    turn = await owner.send("hello")
    await owner.ended(turn["generation"])
    socket = await other.socket()
    before = await written()
    ways = [
        {"type": "send", "conversation": turn["conversation"], "parent": turn["answer"], "text": "x"},
        {"type": "edit", "message": turn["message"], "text": "x"},
        {"type": "regenerate", "message": turn["answer"]},
        {"type": "continue", "message": turn["answer"]},
    ]
    for way in ways:
        await socket.connection.send_json({**way, "client_id": "a-client-id"})
        assert (await socket.until("refused"))["code"] == "not_found"
    assert await written() == before


async def test_a_malformed_place_in_a_log_is_refused(rig: Rig, join):
    client = await join()
    turn = await client.send("hello")
    socket = await client.socket()
    for after in ("5", "1-x", "-1", "1-" + "9" * 30):
        await socket.tell("subscribe", generation=turn["generation"], after=after)
        assert (await socket.until("error"))["errors"][0]["field"] == "after"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 4403),
        ({"Origin": "https://elsewhere.example"}, 4403),
        ({"Authorization": "Bearer nobody-knows-it"}, 4401),
        ({"Authorization": "Bearer "}, 4401),
    ],
)
async def test_who_may_not_come_in(rig: Rig, headers: dict[str, str], code: int):
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{rig.url()}/ws/v1/", headers=headers) as ws,
    ):
        assert (await ws.receive(timeout=20)).type is aiohttp.WSMsgType.CLOSE
        assert ws.close_code == code


async def test_a_cookie_needs_an_origin_and_a_token_needs_none(rig: Rig, join):
    client = await join()
    cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={client.token}"}
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{rig.url()}/ws/v1/", headers=cookie) as ws:
            await ws.receive(timeout=20)
            assert ws.close_code == 4403
        async with session.ws_connect(f"{rig.url()}/ws/v1/", headers={**cookie, "Origin": rig.url()}) as ws:
            assert (await ws.receive_json(timeout=20))["type"] == "hello"


async def test_an_ended_session_is_signed_out(rig: Rig, join):
    client = await join()
    await sync_to_async(Session.objects.all().delete)()
    async with client.connect() as ws:
        await ws.receive(timeout=20)
        assert ws.close_code == 4401
    assert (await client.request("GET", "conversations"))[0] == 401


async def test_an_unknown_path_is_closed_and_not_a_fault(rig: Rig):
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{rig.url()}/ws/nothing") as ws:
        await ws.receive(timeout=20)
        assert ws.close_code == 4404
    assert "Traceback" not in rig.logs()


async def test_two_chats_in_two_tabs_do_not_disturb_each_other(rig: Rig, join):
    client = await join()
    one, two = await client.socket(), await client.socket()
    await one.tell("send", client_id="chat-one-1", text="one")
    await two.tell("send", client_id="chat-two-2", text="two")
    first, second = await one.until("accepted"), await two.until("accepted")
    await asyncio.gather(one.read(first["generation"]), two.read(second["generation"]))
    assert set(one.readers) == {first["generation"]}
    assert set(two.readers) == {second["generation"]}


async def test_a_hundred_readers_come_and_go_and_each_has_every_character(rig: Rig, join):
    client: Client = await join()
    turn = await client.send("hello [[tokens=400 gap_ms=5]]")

    async def visit(number: int) -> str:
        socket = await client.socket()
        if number % 2:
            await socket.tell("subscribe", generation=turn["generation"])
            await socket.read(turn["generation"], lambda reader: len(reader.text) > 10 * number)
            await socket.close()
            return ""
        await socket.tell("subscribe", generation=turn["generation"])
        text = (await socket.read(turn["generation"])).text
        await socket.close()
        return text

    for start in range(0, 100, 25):
        texts = await asyncio.gather(*(visit(number) for number in range(start, start + 25)))
        assert {text for text in texts if text} == {await client.text(turn["answer"])}


async def closed(socket) -> int:
    """The code with which the other side closes."""
    while True:
        message = await socket.connection.receive(timeout=20)
        if message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSING}:
            return socket.connection.close_code


async def test_logging_out_closes_the_persons_sockets_at_once(rig: Rig, join):
    client = await join()
    socket = await client.socket()
    async with (
        aiohttp.ClientSession(headers={"X-Session-Token": client.token}) as session,
        session.delete(f"{rig.url()}/_allauth/app/v1/auth/session") as answer,
    ):
        assert answer.status == 401  # allauth's way to say: signed out now
    assert await closed(socket) == 4401
