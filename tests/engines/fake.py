"""A fault-injecting OpenAI-compatible engine, a process: `python -m tests.engines.fake --port 0 --control`.

It prints {"port": N, "pid": N}, speaks as vLLM or as llama.cpp, and does what plan.py says.
"""

import argparse
import asyncio
import logging
import os
import sys
import time
from typing import Any

import msgspec
from aiohttp import web

from tests.engines import words
from tests.engines.answers import Answer, Ended
from tests.engines.machine import Job, Machine, QueueFull, Record
from tests.engines.plan import Plan, Settings, changed, directed
from tests.engines.requests import Bad, chat_job, completion_job, error_body

MACHINE = web.AppKey("machine", Machine)


async def chat(request: web.Request) -> web.StreamResponse:
    """POST /v1/chat/completions."""
    return await _serve(request, chat_job)


async def completions(request: web.Request) -> web.StreamResponse:
    """POST /v1/completions, of token ids or text."""
    return await _serve(request, completion_job)


async def _serve(request: web.Request, read: Any) -> web.StreamResponse:
    machine = request.app[MACHINE]
    try:
        job = read(machine.settings, msgspec.json.decode(await request.read()))
        plan = directed(machine.plan, job.user)
    except (Bad, msgspec.ValidationError, msgspec.DecodeError) as bad:
        machine.calls += 1
        return _refusal(400, bad.body if isinstance(bad, Bad) else error_body(400, "bad request"))
    record = machine.begin(job)
    try:
        return await _run(request, machine, job, plan, record)
    except (asyncio.CancelledError, ConnectionError):
        record.ended = record.ended or "client_closed"
        raise
    finally:
        record.ended = record.ended or "finished"
        record.ended_at = time.monotonic()


async def _run(
    request: web.Request, machine: Machine, job: Job, plan: Plan, record: Record
) -> web.StreamResponse:
    faulty = machine.fires(plan, job)
    if machine.settings.loading:
        record.ended = "refused"
        return _refusal(503, error_body(503, "Loading model", "unavailable_error"))
    if faulty and plan.status:
        record.ended = "refused"
        return _refusal(plan.status, error_body(plan.status, "told to"), plan.retry_after)
    if faulty and plan.drop:
        record.ended = "drop"
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    try:
        async with machine.slot():
            return await _stream(request, job, plan, record, faulty=faulty)
    except QueueFull:
        record.ended = "refused"
        return _refusal(503, error_body(503, "The queue is full", "ServiceUnavailableError"))


async def _stream(
    request: web.Request, job: Job, plan: Plan, record: Record, *, faulty: bool
) -> web.StreamResponse:
    await asyncio.sleep(plan.headers_ms / 1000)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    try:
        await Answer(response, job, plan, record).send(faulty=faulty)
    except Ended:
        if record.ended == "cut":
            return response
    await response.write_eof()
    if plan.close_after and request.transport is not None:
        request.transport.close()
    return response


async def tokenize(request: web.Request) -> web.Response:
    """POST /tokenize in the dialect's own form."""
    settings = request.app[MACHINE].settings
    body = msgspec.json.decode(await request.read())
    if settings.dialect == "llama.cpp":
        return web.json_response({"tokens": words.encode(body.get("content", ""))})
    if "messages" in body:
        generation = body.get("add_generation_prompt", True)
        ids = words.chat_ids(body["messages"], generation=generation, open_end=False)
    else:
        ids = words.encode(body["prompt"])
    return web.json_response({"count": len(ids), "max_model_len": settings.context_length, "tokens": ids})


async def input_tokens(request: web.Request) -> web.Response:
    """POST /v1/chat/completions/input_tokens, llama.cpp's own."""
    if request.app[MACHINE].settings.dialect != "llama.cpp":
        return _refusal(404, error_body(404, "Not Found", "NotFoundError"))
    body = msgspec.json.decode(await request.read())
    ids = words.chat_ids(body["messages"], generation=True, open_end=False)
    return web.json_response({"input_tokens": len(ids), "object": "response.input_tokens"})


async def health(request: web.Request) -> web.Response:
    """GET /health: as slow and as ill as it was told to be."""
    settings = request.app[MACHINE].settings
    await asyncio.sleep(settings.health_ms / 1000)
    return web.Response(status=503 if settings.loading else settings.health_status)


async def models(request: web.Request) -> web.Response:
    """GET /v1/models."""
    settings = request.app[MACHINE].settings
    entry = {"id": settings.model, "object": "model", "max_model_len": settings.context_length}
    return web.json_response({"object": "list", "data": [entry]})


async def metrics(request: web.Request) -> web.Response:
    """GET /metrics, the gauges that routers read."""
    machine = request.app[MACHINE]
    names = ("vllm:num_requests_running", "vllm:num_requests_waiting")
    if machine.settings.dialect == "llama.cpp":
        names = ("llamacpp:requests_processing", "llamacpp:requests_deferred")
    label = "{" + f'model_name="{machine.settings.model}"' + "}"
    values = zip(names, (machine.running, machine.waiting), strict=True)
    return web.Response(text="".join(f"{name}{label} {value}\n" for name, value in values))


async def report(request: web.Request) -> web.Response:
    """GET /control."""
    return web.json_response(request.app[MACHINE].report())


async def control(request: web.Request) -> web.Response:
    """POST /control: fields of Plan and Settings, and `forget` to clear the records."""
    machine = request.app[MACHINE]
    given = await request.json()
    if given.pop("forget", False):
        machine.forget()
    own = {name: given.pop(name) for name in Settings.__struct_fields__ if name in given}
    try:
        machine.plan = changed(machine.plan, given)
        machine.settings = msgspec.convert({**msgspec.structs.asdict(machine.settings), **own}, Settings)
    except msgspec.ValidationError as error:
        return web.json_response({"error": str(error)}, status=400)
    return web.json_response(machine.report())


def _refusal(status: int, body: bytes, retry_after: str = "") -> web.Response:
    headers = {"Retry-After": retry_after} if retry_after else {}
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def application(machine: Machine, *, controlled: bool) -> web.Application:
    """The routes; /control only where asked for."""
    app = web.Application(client_max_size=16 * 1024**2)
    app[MACHINE] = machine
    app.add_routes(
        [
            web.post("/v1/chat/completions", chat),
            web.post("/v1/completions", completions),
            web.post("/v1/chat/completions/input_tokens", input_tokens),
            web.post("/tokenize", tokenize),
            web.get("/health", health),
            web.get("/metrics", metrics),
            web.get("/v1/models", models),
        ]
    )
    if controlled:
        app.add_routes([web.get("/control", report), web.post("/control", control)])
    return app


async def run(machine: Machine, port: int, *, controlled: bool, with_parent: bool) -> None:
    """Serves until the process is ended, or until its standard input closes."""
    runner = web.AppRunner(
        application(machine, controlled=controlled), handler_cancellation=True, access_log=None
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    address = runner.addresses[0]
    sys.stdout.write(msgspec.json.encode({"port": address[1], "pid": os.getpid()}).decode() + "\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    if with_parent:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()


def main() -> None:
    """Flags are the fields of Plan and Settings: `--set tokens=100 --set slots=4`."""
    parser = argparse.ArgumentParser(description="A fault-injecting OpenAI-compatible engine.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", action="store_true", help="serve /control")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    flags = parser.parse_args()
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # a client that hangs up is no fault here
    given = dict(item.split("=", 1) for item in flags.set)
    own = {name: given.pop(name) for name in Settings.__struct_fields__ if name in given}
    machine = Machine(msgspec.convert(own, Settings, strict=False), changed(Plan(), given))
    serving = run(machine, flags.port, controlled=flags.control, with_parent=flags.with_parent)
    try:
        import uvloop
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


if __name__ == "__main__":
    main()
