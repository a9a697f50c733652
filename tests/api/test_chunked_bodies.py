"""Bodies in chunks, without a Content-Length: read as any other, and held to the same limit."""

from collections.abc import AsyncIterator

from django.conf import settings

from tests.rig import Rig

JSON = {"Content-Type": "application/json"}


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_turn_in_chunks_is_a_turn(rig: Rig, join):
    client = await join()
    body = chunks(b'{"client_id": "in-chunks", ', b'"text": "hello"}')
    status, turn = await client.request("POST", "turns", data=body, headers=JSON)
    assert status == 202, turn
    assert await client.text(turn["message"]) == "hello"


async def test_a_body_in_chunks_is_held_to_the_limit(rig: Rig, join):
    client = await join()
    size = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    status, problem = await client.request("POST", "turns", data=chunks(b"x" * size, b"x"), headers=JSON)
    assert (status, problem["code"], problem["errors"][0]["limit"]) == (413, "too_large", size)


async def test_no_body_in_chunks_is_no_body(rig: Rig, join):
    client = await join()
    turn = await client.send("hello [[tokens=2000 gap_ms=10]]")
    status, answer = await client.request("POST", f"generations/{turn['generation']}/stop", data=chunks())
    assert (status, answer["pk"]) == (202, turn["generation"])
