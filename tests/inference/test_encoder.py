"""The encoder's server, with a model that the test holds: forms, limits, deadlines, batches, dropped work."""

import asyncio
import base64
import threading
from dataclasses import dataclass

import pytest

from inference.encoder.batches import Shape
from inference.encoder.wire import Limits
from tests.inference.encoders import HeldModel, Served, running_status, served, until, vector_of

FLOATS = [0.5, -0.10000000149011612]


async def test_floats_and_base64_are_the_same_numbers_in_the_order_asked() -> None:
    async with served() as encoder:
        status, plain, _ = await encoder.post(input=["four", "a b c"])
        assert status == 200
        assert plain == {
            "object": "list",
            "data": [
                {"object": "embedding", "index": 0, "embedding": [4.0, *FLOATS]},
                {"object": "embedding", "index": 1, "embedding": [5.0, *FLOATS]},
            ],
            "model": "all-MiniLM-L6-v2",
            "usage": {"prompt_tokens": 4, "total_tokens": 4},
        }
        _, packed, _ = await encoder.post(input=["four", "a b c"], encoding_format="base64")
        assert [base64.b64decode(one["embedding"]) for one in packed["data"]] == [
            vector_of("four"),
            vector_of("a b c"),
        ]


async def test_one_text_alone_and_fields_that_mean_nothing_here() -> None:
    async with served() as encoder:
        status, answer, _ = await encoder.post(input="four", user="somebody", dimensions=3)
        assert (status, answer["data"][0]["embedding"]) == (200, [4.0, *FLOATS])


@dataclass(frozen=True)
class Bad:
    body: dict
    status: int
    param: str | None
    code: str | None
    says: str


@pytest.mark.parametrize(
    "bad",
    [
        Bad({"input": [1, 2]}, 400, "input", None, "Expected `str`"),
        Bad({}, 400, "input", None, "missing required field `input`"),
        Bad({"input": []}, 400, "input", None, "none of them empty"),
        Bad({"input": ["a", ""]}, 400, "input", None, "none of them empty"),
        Bad({"input": "x", "encoding_format": "hex"}, 400, "encoding_format", None, "hex"),
        Bad({"input": "x", "dimensions": 2}, 400, "dimensions", None, "only be 3"),
        Bad({"input": "x", "model": "gpt"}, 404, "model", "model_not_found", "no model 'gpt'"),
        Bad({"input": ["a", "b", "c", "d"]}, 400, "input", "too_many", "4 texts, the limit is 3"),
        Bad({"input": "x" * 11}, 413, "input", "too_long", "11 characters, the limit is 10"),
        Bad({"input": "x" * 2000}, 413, None, "too_long", "larger than 1000 bytes"),
    ],
    ids=lambda bad: bad.says,
)
async def test_errors_say_what_is_wrong_and_nothing_is_computed(bad: Bad) -> None:
    limits = Limits(texts=3, text_characters=10, body_bytes=1000)
    async with served(limits=limits) as encoder:
        status, answer, _ = await encoder.post(**bad.body)
        error = answer["error"]
        assert (status, error["param"], error["code"]) == (bad.status, bad.param, bad.code)
        assert error["type"] == "invalid_request_error"
        assert bad.says in error["message"]
        assert encoder.model.batches == []


@pytest.mark.parametrize("body", [b"{", b'{"model": "\xff"}', b'{"model": "m", "input": "\\ud800"}'])
async def test_a_body_that_is_no_json(body: bytes) -> None:
    async with (
        served() as encoder,
        encoder.session.post(f"{encoder.url}/v1/embeddings", data=body) as response,
    ):
        assert response.status == 400
        assert (await response.json())["error"]["message"] == "The body is not valid JSON in UTF-8."


@pytest.mark.parametrize("deadline", ["soon", "-1", "0", "1.5", "9" * 30, "²"])
async def test_a_deadline_that_is_none(deadline: str) -> None:
    async with served() as encoder:
        headers = {"X-Deadline-Ms": deadline}
        body = {"model": encoder.model.name, "input": "x"}
        async with encoder.session.post(
            f"{encoder.url}/v1/embeddings", json=body, headers=headers
        ) as response:
            assert response.status == 400
            assert (await response.json())["error"]["param"] == "X-Deadline-Ms"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/embeddings", 405), ("GET", "/nope", 404)]
)
async def test_wrong_doors_answer_in_the_same_form(method: str, path: str, status: int) -> None:
    async with served() as encoder, encoder.session.request(method, encoder.url + path) as response:
        assert response.status == status
        assert (await response.json())["error"]["type"] == "invalid_request_error"


async def test_says_that_it_is_loading_until_it_has_loaded() -> None:
    model, loads = HeldModel(), threading.Event()

    def load() -> HeldModel:
        assert loads.wait(10)
        return model

    async with served(model, load) as encoder:
        status = running_status(encoder)
        assert await status() == 503
        refused, answer, headers = await encoder.post(input="x")
        assert (refused, answer["error"]["code"], headers["Retry-After"]) == (503, "loading", "5")
        loads.set()
        await until(status, 200)
        assert (await encoder.post(input="x"))[0] == 200


async def test_a_model_that_does_not_load_ends_the_work_with_its_reason() -> None:
    def load() -> HeldModel:
        raise FileNotFoundError("no weights")

    async with served(load=load) as encoder:
        await asyncio.wait({encoder.server.working}, timeout=10)
        assert str(encoder.server.working.exception()) == "no weights"
        assert await running_status(encoder)() == 503


async def held(encoder: Served) -> asyncio.Task:
    """A request that the worker is at, and stays at until `go`."""
    encoder.model.go.clear()
    task = asyncio.create_task(encoder.post(input="first"))
    assert await asyncio.to_thread(encoder.model.busy.wait, 10)
    await encoder.waiting(0)
    return task


async def test_a_full_queue_refuses_at_once_and_is_open_again_later() -> None:
    async with served(shape=Shape(queue_texts=4)) as encoder:
        first = await held(encoder)
        second = asyncio.create_task(encoder.post(input=["a", "b", "c"]))
        await encoder.waiting(3)
        status, answer, headers = await encoder.post(input=["d", "e"])
        assert (status, answer["error"]["code"], headers["Retry-After"]) == (503, "overloaded", "1")
        assert answer["error"]["type"] == "server_error"
        assert await encoder.metric("parley_encoder_waiting_texts") == 3
        encoder.model.go.set()
        assert [(await task)[0] for task in (first, second)] == [200, 200]
        assert (await encoder.post(input=["d", "e"]))[0] == 200
        assert encoder.model.batches == [["first"], ["a", "b", "c"], ["d", "e"]]


async def test_what_is_late_is_refused_and_never_computed() -> None:
    async with served() as encoder:
        first = await held(encoder)
        status, answer, _ = await encoder.post(input=["late", "later"], deadline_ms=30)
        assert (status, answer["error"]["code"]) == (504, "deadline_exceeded")
        encoder.model.go.set()
        await first
        await encoder.post(input="next")
        assert encoder.model.batches == [["first"], ["next"]]
        assert await encoder.metric("parley_encoder_dropped_texts_total") == 2


async def test_a_caller_that_leaves_takes_its_texts_along() -> None:
    async with served() as encoder:
        first = await held(encoder)
        leaver = asyncio.create_task(encoder.post(input=["gone", "away"]))
        await encoder.waiting(2)
        leaver.cancel()
        await encoder.waiting(0)
        encoder.model.go.set()
        await first
        await encoder.post(input="next")
        assert encoder.model.batches == [["first"], ["next"]]


async def test_batches_of_eight_over_requests_nearest_deadline_first() -> None:
    async with served() as encoder:
        first = await held(encoder)
        patient = asyncio.create_task(encoder.post(input=[f"p{n}" for n in range(12)], deadline_ms=60_000))
        await encoder.waiting(12)
        urgent = asyncio.create_task(encoder.post(input=["u0", "u1"], deadline_ms=9_000))
        await encoder.waiting(14)
        encoder.model.go.set()
        await asyncio.gather(first, patient, urgent)
        assert encoder.model.batches == [
            ["first"],
            ["u0", "u1", *(f"p{n}" for n in range(6))],
            [f"p{n}" for n in range(6, 12)],
        ]
        assert [one["embedding"][0] for one in (await patient)[1]["data"]] == [2.0] * 10 + [3.0] * 2


async def test_long_texts_make_small_batches() -> None:
    async with served(shape=Shape(padded_characters=100, read_characters=60)) as encoder:
        first = await held(encoder)
        task = asyncio.create_task(encoder.post(input=["a" * 30, "b" * 40, "c" * 30, "d" * 500, "e"]))
        await encoder.waiting(5)
        encoder.model.go.set()
        await asyncio.gather(first, task)
        assert [[text[0] for text in batch] for batch in encoder.model.batches[1:]] == [
            ["a", "b"],
            ["c"],
            ["d"],
            ["e"],
        ]


async def test_a_model_that_fails_on_one_batch_goes_on_with_the_next() -> None:
    async with served() as encoder:
        status, answer, _ = await encoder.post(input="poison")
        assert (status, answer["error"]["code"]) == (500, "model_failed")
        assert (await encoder.post(input="fine"))[0] == 200


async def test_counts_answers_by_status() -> None:
    async with served() as encoder:
        await encoder.post(input="x")
        await encoder.post(input="")
        async with encoder.session.get(f"{encoder.url}/metrics") as response:
            page = await response.text()
        assert 'parley_encoder_answers_total{status="200"} 1.0' in page
        assert 'parley_encoder_answers_total{status="400"} 1.0' in page
        assert "parley_encoder_ready 1.0" in page
