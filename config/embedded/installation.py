"""Where this installation keeps its things, and the ports it got."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from config import env
from config.embedded import ports

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / ".data"
LOGS = DATA / "logs"
RECORD = DATA / "run.json"
LOCK = DATA / "run.lock"
SECRETS = DATA / "secrets.json"
CATALOGUE = DATA / "catalogue.toml"
ADMIN_EMAIL = "admin@localhost"

USUAL_PORTS = {"web": 8000, "engine": 8001, "encoder": 8002, "postgres": 5433, "valkey": 6380}


def make_folders() -> None:
    """`.data` may be passed by all, as Postgres needs when root starts it; logs are their owner's."""
    DATA.mkdir(exist_ok=True, mode=0o755)
    LOGS.mkdir(exist_ok=True, mode=0o700)


def log(name: str) -> Path:
    """A program's log."""
    return LOGS / f"{name}.log"


def python(*arguments: str) -> list[str]:
    """A command of this environment's Python."""
    return [sys.executable, *arguments]


def manage(*arguments: str) -> list[str]:
    """A Django command."""
    return python(str(ROOT / "manage.py"), *arguments)


@dataclass(frozen=True, slots=True)
class Port:
    """A port, and what to say about it."""

    number: int
    note: str


def choose_ports() -> dict[str, Port]:
    """The usual ones (or those of WEB_PORT and so on) where they are free, else others that say why."""
    chosen: dict[str, Port] = {}
    for name, usual in USUAL_PORTS.items():
        wanted = env.port(f"{name.upper()}_PORT", usual)
        number = ports.free(wanted, frozenset(port.number for port in chosen.values()))
        note = f"port {number}" if number == wanted else f"port {number}, because {wanted} is taken"
        chosen[name] = Port(number, note)
    return chosen


def environment(**settings: str) -> dict[str, str]:
    """What children get: our own environment and the settings of this run, which win."""
    return {
        **os.environ,
        "PARLEY_ENV": "development",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        **settings,
    }
