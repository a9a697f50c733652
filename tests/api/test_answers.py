"""An answer from the first character to the last, seen from outside, over every surface."""

import json

from inference.core.events import EntryId, decode
from inference.core.reader import Reader
from tests.engines.process import FakeEngine
from tests.engines.words import said
from tests.rig import Rig


async def test_an_answer_streams_over_the_socket_and_is_there_tomorrow(rig: Rig, join, engine: FakeEngine):
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="first-send", text="hello", ref="r1")
    accepted = await socket.until("accepted")
    assert accepted["ref"] == "r1"
    reader = await socket.read(accepted["generation"])
    assert reader.done is not None
    assert reader.done.state == "complete"
    assert not reader.needs_fetch
    assert reader.text == said("hello", tokens=40)
    assert await client.text(accepted["answer"]) == reader.text
    status, page = await client.request("GET", f"conversations/{accepted['conversation']}/messages")
    assert status == 200
    assert [m["role"] for m in page["results"]] == ["user", "assistant"]
    assert page["results"][1]["generation"]["usage"]["completion_tokens"] == 40


async def test_sse_gives_the_same_text_and_resumes_after_the_last_id(rig: Rig, join):
    client = await join()
    turn = await client.send("hello")
    reader, middle = Reader(), None
    async for entry, data in client.sse(turn["generation"]):
        reader.take(EntryId.parse(entry), decode(json.dumps(data)), data.get("from"))
        if len(reader.text) > 60:
            middle = entry
            break
    assert middle is not None
    async for entry, data in client.sse(turn["generation"], middle):
        reader.take(EntryId.parse(entry), decode(json.dumps(data)), data.get("from"))
    assert reader.done is not None
    assert reader.text == await client.text(turn["answer"])
    assert [item async for item in client.sse(turn["generation"], str(reader.last))] == []


async def test_sending_twice_with_one_client_id_is_one_message(rig: Rig, join, engine: FakeEngine):
    client = await join()
    first = await client.send("hello", client_id="the-same-one")
    again = await client.send("hello", client_id="the-same-one")
    assert {**again, "state": ""} == {**first, "state": ""}
    status, problem = await client.request(
        "POST",
        "turns",
        json={"client_id": "the-same-one", "conversation": None, "parent": None, "text": "other"},
    )
    assert (status, problem["code"]) == (422, "client_id_reused")
    await client.ended(first["generation"])
    assert len(engine.calls_for("hello")) == 1
    _, conversations = await client.request("GET", "conversations")
    assert len(conversations["results"]) == 1


async def test_two_tabs_show_the_same_answer_and_a_late_one_has_it_from_the_first_character(rig: Rig, join):
    client = await join()
    first, second = await client.socket(), await client.socket()
    await first.tell("send", client_id="for-two-tabs", text="hello [[tokens=120]]")
    turn = await first.until("accepted")
    await first.read(turn["generation"], lambda reader: len(reader.text) > 50)
    await second.tell("subscribe", generation=turn["generation"])
    one = await first.read(turn["generation"])
    two = await second.read(turn["generation"])
    assert one.text == two.text
    assert one.done == two.done
    assert {"type": "changed", "conversation": turn["conversation"]} in second.others


async def test_closing_the_tab_does_not_stop_the_answer(rig: Rig, join, engine: FakeEngine):
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="closing-tab", text="hello [[tokens=120]]")
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: len(reader.text) > 20)
    await socket.close()
    assert (await client.ended(turn["generation"]))["state"] == "complete"
    reopened = await client.socket()
    await reopened.tell("subscribe", generation=turn["generation"])
    reader = await reopened.read(turn["generation"])
    assert reader.text == await client.text(turn["answer"]) == said("hello [[tokens=120]]", tokens=120)


async def test_stop_reaches_the_engine_and_keeps_the_text(rig: Rig, join, engine: FakeEngine):
    client = await join()
    socket = await client.socket()
    text = "hello [[tokens=2000 gap_ms=10]]"
    await socket.tell("send", client_id="to-be-stopped", text=text)
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: len(reader.text) > 20)
    await socket.tell("stop", generation=turn["generation"])
    reader = await socket.read(turn["generation"])
    assert reader.done is not None
    assert reader.done.state == "stopped"
    assert not reader.needs_fetch
    assert await client.text(turn["answer"]) == reader.text
    assert said(text, tokens=2000).startswith(reader.text)
    (call,) = engine.calls_for(text)
    assert call["ended"] == "client_closed"
    status, again = await client.request("POST", f"generations/{turn['generation']}/stop")
    assert (status, again["state"]) == (202, "stopped")


async def test_stopping_before_the_first_token_leaves_the_question_and_an_empty_answer(rig: Rig, join):
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="stopped-early", text="hello [[first_ms=5000]]")
    turn = await socket.until("accepted")
    await socket.tell("stop", generation=turn["generation"])
    reader = await socket.read(turn["generation"])
    assert reader.done is not None
    assert (reader.done.state, reader.text) == ("stopped", "")
    _, page = await client.request("GET", f"conversations/{turn['conversation']}/messages")
    assert [len(message["parts"]) for message in page["results"]] == [1, 0]


async def test_continue_goes_on_from_the_text_that_stands(rig: Rig, join, engine: FakeEngine):
    client = await join()
    socket = await client.socket()
    text = "hello [[tokens=300 gap_ms=10]]"
    await socket.tell("send", client_id="stop-and-go-on", text=text)
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: len(reader.text) > 50)
    await socket.tell("stop", generation=turn["generation"])
    stopped = await socket.read(turn["generation"])
    await socket.tell("continue", message=turn["answer"], client_id="the-rest-of-it")
    more = await socket.until("accepted")
    assert more["answer"] == turn["answer"]
    reader = await socket.read(more["generation"])
    assert reader.text.startswith(stopped.text.rstrip())
    assert reader.text == said(text, tokens=300) == await client.text(turn["answer"])
    message = await client.message(turn["answer"])
    assert message["siblings"] == [turn["answer"]]


async def test_a_send_while_the_answer_runs_is_refused_but_waits_once_it_was_told_to_stop(rig: Rig, join):
    client = await join()
    socket = await client.socket()
    await socket.tell("send", client_id="long-running", text="hello [[tokens=2000 gap_ms=10]]")
    turn = await socket.until("accepted")
    await socket.read(turn["generation"], lambda reader: len(reader.text) > 20)
    follow = {"conversation": turn["conversation"], "parent": turn["answer"], "text": "and then?"}
    await socket.tell("send", client_id="too-early-one", **follow)
    refused = await socket.until("refused")
    assert (refused["code"], refused["status"]) == ("answer_running", 409)
    _, page = await client.request("GET", f"conversations/{turn['conversation']}/messages")
    assert len(page["results"]) == 2
    await socket.tell("stop", generation=turn["generation"])
    await socket.tell("send", client_id="right-after-stop", **follow)
    after = await socket.until("accepted")
    assert (await client.ended(after["generation"]))["state"] == "complete"
    assert (await client.ended(turn["generation"]))["state"] == "stopped"


async def test_regenerate_and_edit_make_siblings_and_the_prompt_alternates(
    rig: Rig, join, engine: FakeEngine
):
    client = await join()
    turn = await client.send("one")
    await client.ended(turn["generation"])
    for number in range(3):
        status, again = await client.request(
            "POST", f"messages/{turn['answer']}/regenerate", json={"client_id": f"regenerate-{number}"}
        )
        assert status == 202
        await client.ended(again["generation"])
    assert len((await client.message(turn["answer"]))["siblings"]) == 4
    follow = await client.send("two", conversation=turn["conversation"], parent=again["answer"])
    await client.ended(follow["generation"])
    (call,) = engine.calls_for("two")
    assert [message["role"] for message in call["messages"]] == ["user", "assistant", "user"]
    status, edited = await client.request(
        "POST", f"messages/{turn['message']}/edit", json={"client_id": "edit-the-first", "text": "uno"}
    )
    assert status == 202
    await client.ended(edited["generation"])
    assert set((await client.message(edited["message"]))["siblings"]) == {turn["message"], edited["message"]}
