"""The children of `make up`, each as a Service: command, settings, place in the order of the end."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from config.embedded import installation, llama, postgres, processes, valkey
from config.embedded.installation import ROOT, log, manage, python
from config.embedded.supervisor import Service

# Whoever uses a thing ends before it.
WEB, WORKING, MODELS, CACHE, DATABASE = range(5)
END_SIGNALS = {"postgres": postgres.END_SIGNAL}
DRAIN_S = 6.0
# Above the consumer's own limit, so that a large frame gets an answer in words and not a dropped socket.
FRAME_BYTES = 20_000_000
BACKGROUND_NICE = 15


def database(port: int, who: postgres.Runner) -> Service:
    """Postgres over `.data/postgres`."""
    return Service(
        "postgres",
        lambda: postgres.start(installation.DATA / "postgres", port, log("postgres"), who),
        DATABASE,
        postgres.END_SIGNAL,
        20,
    )


def cache(port: int, password: str) -> Service:
    """Valkey."""
    folder = installation.DATA / "valkey"
    return Service("valkey", lambda: valkey.start(folder, port, log("valkey"), password), CACHE)


def engine(port: int, settings: Mapping[str, str]) -> Service:
    """SmolLM2 on llama.cpp."""
    command = python("-m", "config.embedded.llama", "--port", str(port))
    return _service("engine", command, settings, MODELS)


def encoder(port: int, settings: Mapping[str, str]) -> Service:
    """MiniLM and the classifier; slow to load, so nobody waits for it."""
    return _service("encoder", manage("run_encoder", "--port", str(port)), settings, MODELS)


def web(port: int, settings: Mapping[str, str]) -> Service:
    """Daphne. Its own access log stays off: it would hold query strings."""
    command = python(
        *("-m", "daphne", "-v", "0", "--no-server-name", "-b", "127.0.0.1", "-p", str(port)),
        *("--websocket-max-message-size", str(FRAME_BYTES), "--websocket-max-frame-size", str(FRAME_BYTES)),
        "config.asgi:application",
    )
    return _service("web", command, settings, WEB)


def dispatcher(number: int, settings: Mapping[str, str]) -> Service:
    """One of the dispatchers; it gets time to hand over what it runs."""
    return _service(f"dispatcher-{number}", manage("run_dispatcher"), settings, WORKING, wait_s=DRAIN_S)


def worker(settings: Mapping[str, str]) -> Service:
    """Celery's worker, at the lowest priority that still moves."""
    command = python(
        *("-m", "celery", "-A", "config.celery", "worker", "--loglevel", "INFO"),
        *("--pool", "threads", "--concurrency", "1", "--without-gossip", "--without-mingle"),
    )
    return _service("worker", command, settings, WORKING, nice=BACKGROUND_NICE)


def beat(settings: Mapping[str, str]) -> Service:
    """Celery's clock; its schedule is in the database."""
    command = python("-m", "celery", "-A", "config.celery", "beat", "--loglevel", "INFO", "--pidfile=")
    return _service("beat", command, settings, WORKING, nice=BACKGROUND_NICE)


def write_catalogue(path: Path, engine_port: int) -> None:
    """The catalogue of the embedded engine, at the port it got."""
    weights = llama.weights().name.removesuffix(".gguf").lower()
    text = f"""\
# Written by `make up` for its own engine at each start. Set CATALOGUE to use a file of yours.
[[models]]
id = "{llama.ALIAS}"
name = "SmolLM2 135M"
version = "{weights}"
context_length = {llama.CONTEXT_TOKENS}
max_tokens = 512
default = true
continues = ["text"]

[[models.replicas]]
id = "local-1"
url = "http://127.0.0.1:{engine_port}"
max_running = {llama.SLOTS}
api_key_env = "{llama.KEY_VARIABLE}"
keeps_connections = false
"""
    tomllib.loads(text)
    path.write_text(text)


def _service(
    name: str,
    command: list[str],
    settings: Mapping[str, str],
    order: int,
    *,
    wait_s: float = 5,
    nice: int = 0,
) -> Service:
    return Service(
        name,
        lambda: processes.start(
            command, log(name), environment=settings, folder=ROOT, leash=("--nice", str(nice))
        ),
        order,
        wait_s=wait_s,
    )
