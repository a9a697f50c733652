"""What breaks while an answer runs, and that nobody notices: no character lost, none twice.

Each test ends a process or an engine's stream in the middle of a word and compares with what the engine says in peace.
"""

import signal
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from chat.models import Generation, GenerationChunk
from inference.core.reader import Action, Reader
from tests.engines.process import FakeEngine
from tests.engines.words import said
from tests.rig import Client, Rig, Socket, wait_for

LONG = "hello [[tokens=300 gap_ms=10]]"


def some(reader: Reader) -> bool:
    """The answer is under way."""
    return len(reader.text) > 60


async def begun(client: Client, text: str) -> tuple[Socket, dict]:
    """A socket with an answer in its middle."""
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], some)
    return socket, turn


async def check_whole(client: Client, socket: Socket, turn: dict, text: str, tokens: int) -> None:
    """The reader and the message have exactly what the engine says, and it was counted once."""
    reader = await socket.read(turn["generation"])
    assert reader.done is not None
    assert reader.done.state == "complete"
    assert reader.text == said(text, tokens)
    assert await client.text(turn["answer"]) == reader.text
    ended = await client.ended(turn["generation"])
    assert ended["usage"]["completion_tokens"] == tokens
    assert not await sync_to_async(GenerationChunk.objects.count)()


async def test_a_dispatcher_is_killed_and_another_goes_on(rig: Rig, join):
    rig.ensure("d2")
    client = await join()
    socket, turn = await begun(client, LONG)
    rig.processes[await owner(rig, turn)].kill()
    await check_whole(client, socket, turn, LONG, 300)
    assert Action.REPLACE not in socket.actions  # the log was there: nobody was rewound


async def test_the_only_dispatcher_is_killed_and_started_again(rig: Rig, join):
    client = await join()
    socket, turn = await begun(client, LONG)
    rig.processes["d1"].kill()
    rig.dispatcher("d1")
    await check_whole(client, socket, turn, LONG, 300)


async def test_a_paused_dispatcher_wakes_up_and_touches_nothing(rig: Rig, join):
    rig.ensure("d2")
    client = await join()
    socket, turn = await begun(client, LONG)
    paused = rig.processes[await owner(rig, turn)]
    paused.tell(signal.SIGSTOP)
    try:
        await socket.read(turn["generation"], lambda reader: len(reader.text) > 2000)
    finally:
        paused.tell(signal.SIGCONT)
    await check_whole(client, socket, turn, LONG, 300)


async def test_a_dispatcher_is_drained_and_hands_its_answer_over(rig: Rig, join):
    rig.ensure("d2")
    client = await join()
    socket, turn = await begun(client, LONG)
    rig.processes[await owner(rig, turn)].kill(signal.SIGTERM)
    await check_whole(client, socket, turn, LONG, 300)
    row = await sync_to_async(Generation.objects.get)(pk=turn["generation"])
    assert row.failures == 0


async def test_the_web_process_is_killed_and_the_reader_resumes_at_another(rig: Rig, join):
    rig.ensure("web2")
    client = await join()
    socket, turn = await begun(client, LONG)
    rig.processes["web"].kill()
    with pytest.raises(ConnectionError):
        await socket.read(turn["generation"])
    elsewhere = await join(web="web2", like=client)
    resumed = await elsewhere.socket()
    reader = resumed.readers[turn["generation"]] = socket.readers[turn["generation"]]
    await resumed.tell("subscribe", generation=turn["generation"], after=str(reader.last))
    await check_whole(elsewhere, resumed, turn, LONG, 300)


async def testvalkey_comes_back_empty_and_readers_get_a_snapshot(rig: Rig, join, valkey_client):
    client = await join()
    socket, turn = await begun(client, LONG)
    valkey_client.flushdb()
    await check_whole(client, socket, turn, LONG, 300)
    assert Action.REPLACE in socket.actions


async def testvalkeys_connections_are_cut(rig: Rig, join, valkey_client):
    client = await join()
    socket, turn = await begun(client, LONG)
    ours = valkey_client.client_id()
    database = str(valkey_client.get_connection_kwargs()["db"])
    for connection in valkey_client.client_list():
        # Other test workers have databases of their own on this server.
        if connection["db"] == database and int(connection["id"]) != ours:
            valkey_client.client_kill_filter(_id=connection["id"])
    await check_whole(client, socket, turn, LONG, 300)


@pytest.mark.parametrize(
    "fault",
    ["cut_at=40", "stall_at=40", "error_at=40", "abort_at=40", "odd_at=40", "end_at=40"],
)
async def test_the_engine_breaks_in_mid_answer(rig: Rig, join, engine: FakeEngine, fault: str):
    text = f"hello [[tokens=100 gap_ms=5 {fault} once]]"
    client = await join()
    socket, turn = await begun(client, text)
    await check_whole(client, socket, turn, text, 100)
    assert [call["way"] for call in engine.calls_for(text)] == ["chat", "ids"]


async def test_two_failures_before_the_first_token_are_tried_again(rig: Rig, join, engine: FakeEngine):
    text = "hello [[status=500 times=2]]"
    client = await join()
    turn = await client.send(text)
    assert (await client.ended(turn["generation"]))["state"] == "complete"
    assert len(engine.calls_for(text)) == 3


async def test_an_engine_that_always_fails_is_called_three_times_and_the_person_told(
    rig: Rig, join, engine: FakeEngine
):
    text = "hello [[status=500 always]]"
    client = await join()
    turn = await client.send(text)
    ended = await client.ended(turn["generation"])
    assert (ended["state"], ended["error_code"]) == ("failed", "engine_failed")
    assert len(engine.calls_for(text)) == 3
    _, page = await client.request("GET", f"conversations/{turn['conversation']}/messages")
    assert page["results"][0]["parts"][0]["text"] == text


async def test_an_engine_that_is_down_is_waited_for(rig: Rig, join, engine: FakeEngine):
    client = await join()
    engine.kill()
    try:
        socket = await client.socket()
        await socket.tell("send", client_id="a-client-id", text="hello")
        turn = await socket.until("accepted")
        assert (await socket.until("place"))["place"] == 0
    finally:
        engine.restart()
    await check_whole(client, socket, turn, "hello", 40)


async def test_an_engine_that_stays_down_fails_the_turn_in_words_within_its_deadline(
    rig: Rig, join, engine: FakeEngine
):
    client = await join()
    engine.kill()
    try:
        socket = await client.socket()
        await socket.tell("send", client_id="a-client-id", text="hello")
        turn = await socket.until("accepted")
        await socket.until("place")
        await sync_to_async(Generation.objects.update)(start_by=timezone.now())
        reader = await socket.read(turn["generation"])
        assert reader.done is not None
        assert (reader.done.state, reader.done.error_code) == ("failed", "engine_unavailable")
    finally:
        engine.restart()
    status, again = await client.request(
        "POST", f"messages/{turn['answer']}/regenerate", json={"client_id": "another-try"}
    )
    assert status == 202
    assert (await client.ended(again["generation"]))["state"] == "complete"


async def test_an_answer_past_its_hard_limit_ends_with_the_text_there_is(rig: Rig, join, engine: FakeEngine):
    client = await join()
    socket, turn = await begun(client, LONG)
    engine.kill()
    try:
        row = Generation.objects.filter(pk=turn["generation"], state="queued")
        await until(lambda: row.update(deadline_at=timezone.now()), "the row to be queued")
        reader = await socket.read(turn["generation"])
    finally:
        engine.restart()
    assert reader.done is not None
    assert (reader.done.state, reader.done.error_code) == ("failed", "deadline")
    assert said(LONG, 300).startswith(reader.text)
    assert await client.text(turn["answer"]) == reader.text


@pytest.mark.parametrize("form", ["split=surrogates", "split=bytes", "nul_at=5", "bad_line_at=5", "bytewise"])
async def test_odd_streams_are_read_as_they_are_meant(rig: Rig, join, form: str):
    text = f"hello [[tokens=20 crab_every=5 {form}]]"
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    reader = await socket.read(turn["generation"])
    assert reader.done is not None
    assert reader.done.state == "complete"
    assert reader.text.count("🦀") == 4
    assert "\0" not in reader.text
    assert await client.text(turn["answer"]) == reader.text


async def test_a_slow_reader_loses_nothing(rig: Rig, join):
    text = "hello [[tokens=1500 gap_ms=0]]"
    client = await join()
    socket = await client.socket()
    socket.acks = False
    await socket.tell("send", client_id="a-client-id", text=text)
    turn = await socket.until("accepted")
    await client.ended(turn["generation"])
    socket.acks = True
    await socket.tell("ack", seq=10_000)
    await check_whole(client, socket, turn, text, 512)


async def until(condition: Callable[[], object], what: str) -> None:
    """Poll the rows without holding up the loop."""
    await sync_to_async(wait_for)(condition, what)


async def owner(rig: Rig, turn: dict) -> str:
    """The name of the process that runs it."""
    row = await sync_to_async(Generation.objects.get)(pk=turn["generation"])
    return next(name for name, process in rig.processes.items() if str(row.owner) in process.everything())
