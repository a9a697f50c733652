"""How such products fail in the field, and what this one does instead: reports told as tests."""

import asyncio
import re
import uuid

import aiohttp
import pytest

from tests.engines.process import FakeEngine
from tests.engines.words import said
from tests.rig import Client, Rig


async def gauge(rig: Rig, name: str) -> float:
    """A figure of the web process, as Prometheus reads it."""
    async with aiohttp.ClientSession() as session, session.get(f"{rig.url()}/metrics") as answer:
        found = re.search(rf"^{name} (\S+)$", await answer.text(), re.MULTILINE)
    assert found, name
    return float(found[1])


async def until_gauge(rig: Rig, name: str, value: float) -> None:
    """Wait until it has this value."""
    async with asyncio.timeout(20):
        while await gauge(rig, name) != value:  # noqa: ASYNC110 the figure is another process's
            await asyncio.sleep(0.05)


async def test_the_socket_drops_before_the_first_token_and_nothing_is_lost(rig: Rig, join):
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text="hello [[first_ms=500]]")
    turn = await socket.until("accepted")
    await socket.close()
    _, page = await client.request("GET", f"conversations/{turn['conversation']}/messages")
    question, answer = page["results"]
    assert question["parts"] == [{"type": "text", "text": "hello [[first_ms=500]]"}]
    assert answer["generation"]["state"] in {"queued", "running"}
    assert (await client.ended(turn["generation"]))["state"] == "complete"


async def test_left_and_come_back_in_mid_answer_it_is_shown_at_once_and_can_be_stopped(rig: Rig, join):
    client = await join()
    text = "hello [[tokens=2000 gap_ms=10]]"
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    left = await socket.read(turn["generation"], lambda reader: len(reader.text) > 50)
    await socket.close()
    back = await client.socket()
    await back.tell("subscribe", generation=turn["generation"])
    reader = await back.read(turn["generation"], lambda reader: len(reader.text) > len(left.text) + 50)
    assert reader.text.startswith(left.text)
    await back.tell("stop", generation=turn["generation"])
    reader = await back.read(turn["generation"])
    assert reader.done is not None
    assert reader.done.state == "stopped"


async def test_stop_works_while_the_engine_is_silent_and_keeps_the_text(rig: Rig, join, engine: FakeEngine):
    client = await join()
    text = "hello [[tokens=100 stall_at=10 always]]"
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: reader.text == said(text, 10))
    await socket.tell("stop", generation=turn["generation"])
    reader = await socket.read(turn["generation"])
    assert reader.done is not None
    assert (reader.done.state, reader.text) == ("stopped", said(text, 10))
    (call,) = engine.calls_for(text)
    assert call["ended"] == "client_closed"


async def test_stop_at_another_web_process_reaches_the_engine(rig: Rig, join, engine: FakeEngine):
    rig.ensure("web2")
    client = await join()
    elsewhere: Client = await join(web="web2", like=client)
    text = "hello [[tokens=2000 gap_ms=10]]"
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: len(reader.text) > 50)
    await elsewhere.request("POST", f"generations/{turn['generation']}/stop")
    reader = await socket.read(turn["generation"])
    assert reader.done is not None
    assert reader.done.state == "stopped"
    assert engine.calls_for(text)[0]["ended"] == "client_closed"


async def test_a_restart_between_two_turns_leaves_one_conversation(rig: Rig, join):
    client = await join()
    first = await client.send("one")
    await client.ended(first["generation"])
    rig.processes["web"].kill()
    rig.web()
    client = await join(like=client)
    second = await client.send("two", conversation=first["conversation"], parent=first["answer"])
    await client.ended(second["generation"])
    _, conversations = await client.request("GET", "conversations")
    assert [c["pk"] for c in conversations["results"]] == [first["conversation"]]
    _, page = await client.request("GET", f"conversations/{first['conversation']}/messages")
    assert [m["role"] for m in page["results"]] == ["user", "assistant"] * 2


async def test_event_streams_tell_proxies_not_to_buffer_and_end_with_their_reader(rig: Rig, join):
    client = await join()
    turn = await client.send("hello [[tokens=500 gap_ms=200]]")
    url = f"{rig.url()}/api/v1/generations/{turn['generation']}/events"
    headers = {"Authorization": f"Bearer {client.token}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        answers = [await session.get(url) for _ in range(50)]
        assert answers[0].headers["Content-Type"] == "text/event-stream"
        assert answers[0].headers["X-Accel-Buffering"] == "no"
        assert answers[0].headers["Cache-Control"] == "no-cache, no-transform"
        await asyncio.gather(*(answer.content.readuntil(b"event: delta") for answer in answers))
        assert await gauge(rig, "parley_readers") == 50
        for answer in answers:
            answer.close()
    await until_gauge(rig, "parley_readers", 0)


async def test_sockets_that_go_away_leave_nothing_behind(rig: Rig, join):
    client = await join()
    turn = await client.send("hello [[tokens=500 gap_ms=200]]")
    sockets = [await client.socket() for _ in range(20)]
    for socket in sockets:
        await socket.tell("subscribe", generation=turn["generation"])
        await socket.until("event")
    for socket in sockets:
        await socket.close()
    await until_gauge(rig, "parley_sockets", 0)
    await until_gauge(rig, "parley_readers", 0)


@pytest.mark.parametrize("header", ["0", "1-", "x-1", "-1-0", "1-2-3"])
async def test_a_malformed_last_event_id_is_refused(rig: Rig, join, header: str):
    client = await join()
    turn = await client.send("hello")
    status, problem = await client.request(
        "GET", f"generations/{turn['generation']}/events", headers={"Last-Event-ID": header}
    )
    assert (status, problem["errors"][0]["field"]) == (400, "Last-Event-ID")


async def test_events_of_others_and_of_nobody_are_not_found(rig: Rig, join):
    owner, other = await join(), await join()
    turn = await owner.send("hello")
    for pk in (turn["generation"], str(uuid.uuid4())):
        status, problem = await other.request("GET", f"generations/{pk}/events")
        assert (status, problem["code"]) == (404, "not_found")


async def test_a_prompt_over_the_context_fails_in_words_and_keeps_the_text(rig: Rig, join):
    client = await join()
    turn = await client.send("long " * 8000)
    ended = await client.ended(turn["generation"])
    assert (ended["state"], ended["error_code"]) == ("failed", "context_too_long")
    assert await client.text(turn["message"]) == "long " * 8000


async def test_a_deleted_conversation_stops_its_answer_and_nothing_comes_back(
    rig: Rig, join, engine: FakeEngine
):
    client = await join()
    text = "hello [[tokens=2000 gap_ms=10]]"
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: len(reader.text) > 50)
    assert (await client.request("DELETE", f"conversations/{turn['conversation']}"))[0] == 204
    async with asyncio.timeout(20):
        while engine.report()["running"]:  # noqa: ASYNC110 the figure is another process's
            await asyncio.sleep(0.05)
    assert (await client.request("GET", f"messages/{turn['answer']}"))[0] == 404
    assert (await client.request("GET", f"generations/{turn['generation']}"))[0] == 404
