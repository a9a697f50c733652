"""Starts the fake engine as a real process and steers it: control, report, kill, restart on the same port."""

import json
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_ROOT = Path(__file__).resolve().parents[2]
_WAIT_S = 10


class FakeEngine:
    """One engine process, a context manager; keywords are fields of Plan and Settings."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is, also while it is down."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Starts it, on the port that it had before, and waits until it serves."""
        sets = [
            word for name, value in self._fields.items() for word in ("--set", f"{name}={_written(value)}")
        ]
        command = [sys.executable, "-m", "tests.engines.fake", "--port", str(self._port), "--control"]
        self._process = subprocess.Popen(
            [*command, "--with-parent", *sets],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the fake engine did not start; its error is above")
        self._port = json.loads(line)["port"]
        return self

    def kill(self) -> None:
        """SIGKILL, and waits until it is gone."""
        if self._process is None:
            return
        self._process.kill()
        self.wait()

    def wait(self) -> int:
        """Waits until it ended (by itself, if a fault does it) and gives the exit status."""
        assert self._process is not None
        status = self._process.wait(_WAIT_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return status

    def restart(self) -> Self:
        """Killed, if it still runs, and up again on the same port with nothing remembered."""
        self.kill()
        return self.start()

    def control(self, **fields: Any) -> dict[str, Any]:
        """Sets fields of Plan and Settings at once; `forget=True` clears the records. Gives the report."""
        return self._ask(json.dumps(fields).encode())

    def reset(self) -> None:
        """As it was started, nothing remembered."""
        from msgspec.structs import asdict

        from tests.engines.plan import Plan, Settings

        self.control(forget=True, **{**asdict(Plan()), **asdict(Settings()), **self._fields})

    def report(self) -> dict[str, Any]:
        """running, waiting, calls, requests: machine.py has the fields."""
        return self._ask(None)

    def calls_for(self, user: str) -> list[dict[str, Any]]:
        """The calls whose last user message this is, oldest first."""
        return [request for request in self.report()["requests"] if request["user"] == user]

    def _ask(self, body: bytes | None) -> dict[str, Any]:
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=_WAIT_S)) as connection:
            connection.request("GET" if body is None else "POST", "/control", body)
            answer = connection.getresponse()
            report: dict[str, Any] = json.load(answer)
        if answer.status != 200:
            raise ValueError(report["error"])
        return report

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
