"""An answer from the first character to the last, seen from outside, over every surface."""

from inference.core.reader import Reader
from tests.engines.process import FakeEngine
from tests.rig import Rig


async def test_an_answer_streams_over_the_socket_and_is_there_tomorrow(rig: Rig, join, engine: FakeEngine):
    rig.web()
    rig.dispatcher()
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="first-send", text="hello", ref="r1")
    accepted = await socket.until("accepted")
    assert accepted["ref"] == "r1"
    reader = await socket.read(accepted["generation"])
    assert reader.done is not None
    assert reader.done.state == "complete"
    assert not reader.needs_fetch
    assert reader.text
    assert await client.text(accepted["answer"]) == reader.text
    status, page = await client.request("GET", f"conversations/{accepted['conversation']}/messages")
    assert status == 200
    assert [m["role"] for m in page["results"]] == ["user", "assistant"]
    assert page["results"][1]["generation"]["usage"]["completion_tokens"] == 40


async def test_sse_gives_the_same_text(rig: Rig, join):
    rig.web()
    rig.dispatcher()
    client = await join()
    turn = await client.send("hello")
    reader = Reader()
    from inference.core.events import EntryId, decode
    import json

    async for entry, data in client.sse(turn["generation"]):
        reader.take(EntryId.parse(entry), decode(json.dumps(data)), data.get("from"))
    assert reader.done is not None
    assert reader.text == await client.text(turn["answer"])
