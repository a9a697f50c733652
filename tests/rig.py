"""The product as processes on a test's own stores: web, dispatchers and a fake engine, and a client of it.

For black-box tests only: what happens is seen through HTTP and sockets, or not at all.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

import aiohttp
from django.conf import settings
from django.db import connections

from inference.core.events import EntryId, decode
from inference.core.reader import Action, Reader

ROOT = Path(__file__).resolve().parents[1]
# The sizes are above the consumer's own limit, so that it can answer in words.
_SERVERS = {
    "daphne": [
        "-m",
        "daphne",
        "--websocket-max-message-size",
        "20000000",
        "--websocket-max-frame-size",
        "20000000",
    ],
    "uvicorn": [
        "-m",
        "uvicorn",
        "--ws",
        "websockets-sansio",
        "--loop",
        "uvloop",
        "--lifespan",
        "off",
        "--ws-max-size",
        "20000000",
    ],
}
WAIT_S = 20.0
START_S = 60.0


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def catalogue_text(urls: Sequence[str], **model: Any) -> str:
    """A catalogue of one model on these engines; keywords are further fields of the model."""
    fields = {"context_length": 4096, "max_tokens": 512, "continues": ["ids", "text"]} | model
    lines = ["[[models]]", 'id = "fake"', 'name = "Fake"', 'version = "1"', "default = true"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    lines += ["[models.sampling]", "temperature = 0.0"]
    for number, url in enumerate(urls, 1):
        lines += ["[[models.replicas]]", f'id = "r{number}"', f'url = "{url}"', "max_running = 64"]
    return "\n".join(lines) + "\n"


def stores_environment() -> dict[str, str]:
    """An environment for processes that work on this test worker's own databases."""
    parts = urlsplit(settings.DATABASE_URL)
    name = connections["default"].settings_dict["NAME"]
    return {
        **os.environ,
        "DATABASE_URL": parts._replace(path=f"/{name}").geturl(),
        "VALKEY_URL": settings.VALKEY_URL,
    }


class Process:
    """One process of the product; its log goes to a file."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str], logs: Path) -> None:
        self.name, self._command, self._environment = name, command, environment
        self.log = logs / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._logged = 0

    def start(self) -> Self:
        """Run it, in a session of its own."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._command],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it is there, and not ended by itself."""
        return self._process is not None and self._process.poll() is None

    def truncate_log(self) -> None:
        """Forget what it wrote."""
        self._logged = self.log.stat().st_size

    def written(self) -> str:
        """What it wrote since then."""
        return self.log.read_bytes()[self._logged :].decode()

    def everything(self) -> str:
        """All that it ever wrote."""
        return self.log.read_text()

    def tell(self, number: signal.Signals) -> None:
        """Send a signal and do not wait."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it and wait until it is gone."""
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(WAIT_S)
        self._process = None


class Rig:
    """`processes` by name (web, web2, d1, d2); start what a test needs, everything ends with the block."""

    running: "ClassVar[Rig | None]" = None

    def __init__(self, environment: dict[str, str], catalogue: Path, logs: Path, **settings: Any) -> None:
        self.environment = {
            **environment,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PARLEY_ENV": "development",
            "CATALOGUE": str(catalogue),
            **{name: str(value) for name, value in settings.items()},
        }
        self._logs = logs
        self._ports: dict[str, int] = {}
        self.processes: dict[str, Process] = {}

    def web(self, name: str = "web") -> Process:
        """A web process, listening once this returns."""
        port = self._ports.setdefault(name, free_port())
        command = [
            *_SERVERS[os.environ.get("ASGI_SERVER", "daphne")],
            "--port",
            str(port),
            "config.asgi:application",
        ]
        process = self._start(name, command)
        wait_for(lambda: _listens(port), f"{name} to listen", START_S)
        return process

    def dispatcher(self, name: str = "d1") -> Process:
        """A dispatcher."""
        return self._start(name, ["manage.py", "run_dispatcher"])

    def ensure(self, *names: str) -> None:
        """These processes run, whatever a test before did to them; their logs begin anew."""
        for name in names:
            process = self.processes.get(name)
            if process is None or not process.runs:
                self.web(name) if name.startswith("web") else self.dispatcher(name)
            self.processes[name].truncate_log()

    def end_others(self, *names: str) -> None:
        """Everything but these ends."""
        for name, process in self.processes.items():
            if name not in names:
                process.kill()

    def url(self, web: str = "web") -> str:
        """Where a web process is."""
        return f"http://127.0.0.1:{self._ports[web]}"

    def logs(self) -> str:
        """All that the processes wrote."""
        return "\n".join(f"== {p.name}\n{p.written()}" for p in self.processes.values())

    def _start(self, name: str, command: Sequence[str]) -> Process:
        self._take_over()
        if name not in self.processes:
            self.processes[name] = Process(name, command, self.environment, self._logs)
        return self.processes[name].start()

    def _take_over(self) -> None:
        """One rig runs at a time: dispatchers of two would answer each other's turns, for they share the stores."""
        if Rig.running is not None and Rig.running is not self:
            Rig.running.end_others()
        Rig.running = self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_others()


class Client:
    """A person's program: a token, REST, sockets."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token
        self._session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"})

    async def request(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Status and JSON of a call under /api/v1/."""
        async with self._session.request(method, f"{self.url}/api/v1/{path}", **options) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text else None

    async def send(self, text: str, **fields: Any) -> dict[str, Any]:
        """Begin a turn over REST; fails the test when refused."""
        body = {"client_id": str(uuid.uuid4()), "conversation": None, "parent": None, "text": text} | fields
        status, answer = await self.request("POST", "turns", json=body)
        assert status == 202, answer
        return dict(answer)

    async def message(self, pk: str) -> dict[str, Any]:
        """One message."""
        status, answer = await self.request("GET", f"messages/{pk}")
        assert status == 200, answer
        return dict(answer)

    async def text(self, pk: str) -> str:
        """The text of a message."""
        return "".join(part["text"] for part in (await self.message(pk))["parts"])

    async def ended(self, generation: str) -> dict[str, Any]:
        """The generation, once it is in a terminal state."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            status, answer = await self.request("GET", f"generations/{generation}")
            assert status == 200, answer
            if answer["state"] not in {"queued", "running"}:
                return dict(answer)
            await asyncio.sleep(0.05)
        raise AssertionError(f"the answer did not end: {answer}")

    def connect(self) -> Any:
        """A websocket as it comes, for use in `async with`."""
        return self._session.ws_connect(f"{self.url}/ws/v1/", max_msg_size=0)

    async def socket(self) -> "Socket":
        """A websocket, after its hello."""
        socket = Socket(await self.connect())
        assert (await socket.receive())["type"] == "hello"
        return socket

    async def sse(
        self, generation: str, last: str | None = None
    ) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Id and data of each event of one response."""
        headers = {"Last-Event-ID": last} if last else {}
        url = f"{self.url}/api/v1/generations/{generation}/events"
        async with self._session.get(url, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            fields: dict[str, str] = {}
            async for raw in answer.content:
                line = raw.decode().rstrip("\n")
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "id" in fields:
                    yield fields["id"], json.loads(fields["data"])
                    fields = {}

    async def close(self) -> None:
        """Every connection."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class Socket:
    """One websocket, with a reader for each answer on it."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        self.connection = connection
        self.readers: dict[str, Reader] = {}
        self.actions: list[Action] = []
        self.others: list[dict[str, Any]] = []
        self.acks = True

    async def tell(self, kind: str, **fields: Any) -> None:
        """Send one message."""
        await self.connection.send_json({"type": kind, **fields})

    async def receive(self, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """The next message; a closed socket fails the test with its code."""
        message = await self.connection.receive(timeout=timeout_s)
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionError(self.connection.close_code)
        return dict(json.loads(message.data))

    async def until(self, kind: str) -> dict[str, Any]:
        """The next message of a kind; events before it are taken."""
        while True:
            message = await self.receive()
            if message["type"] == "event":
                await self._take(message)
            if message["type"] == kind:
                return message

    async def read(self, generation: str, enough: Callable[[Reader], bool] | None = None) -> Reader:
        """Take events until the answer's end, or until enough was read."""
        reader = self.readers.setdefault(generation, Reader())
        while reader.done is None and not (enough and enough(reader)):
            message = await self.receive()
            if message["type"] == "event":
                await self._take(message)
            else:
                self.others.append(message)
        return reader

    async def _take(self, message: dict[str, Any]) -> None:
        generation = message["generation"]
        reader = self.readers.setdefault(generation, Reader())
        event = decode(json.dumps(message["event"]))
        action = reader.take(EntryId.parse(message["id"]), event, message.get("from"))
        self.actions.append(action)
        if self.acks:
            await self.tell("ack", seq=message["seq"])
        if action is Action.GAP:
            await self.tell("subscribe", generation=generation, after=str(reader.last))

    async def close(self) -> None:
        """Hang up."""
        await self.connection.close()


def wait_for(condition: Callable[[], Any], what: str, timeout_s: float = WAIT_S) -> None:
    """Poll a condition; fail in words when it does not come."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(0.02)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
