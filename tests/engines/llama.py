"""The engine of the embedded default, SmolLM2 on llama.cpp, started and ended for tests."""

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from config.embedded import llama, ports, processes

_ROOT = Path(__file__).resolve().parents[2]
MODEL, SLOTS, CONTEXT_LENGTH = llama.ALIAS, llama.SLOTS, llama.CONTEXT_TOKENS


class SmolLM2:
    """The real engine; a context manager."""

    def __init__(self) -> None:
        self._port = ports.free()
        self._child: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="parley-llama-")

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._port}"

    def running(self) -> int:
        """Slots at work."""
        with urllib.request.urlopen(f"{self.url}/slots", timeout=5) as answer:  # noqa: S310 our own URL
            return sum(slot["is_processing"] for slot in json.load(answer))

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "config.embedded.llama", "--port", str(self._port)]
        self._child = processes.start(command, Path(self._folder.name) / "log", folder=_ROOT)
        processes.wait_until(self._serves, self._child, "the engine", wait_s=60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._child is not None
        processes.stop(self._child, wait_s=5)
        self._folder.cleanup()

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=1) as answer:  # noqa: S310 our own URL
                return bool(answer.status == 200)
        except OSError:
            return False
