"""Reads settings from the environment, typed, with an error that names the variable.

Nothing but the standard library comes in: commands use this before Django is set up.
"""

import os
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class SettingError(Exception):
    """A setting is missing or malformed; the message says which one and what it should be."""


def _read(name: str, default: T | None, parse: Callable[[str], T], form: str) -> T:
    raw = os.environ.get(name, "").strip()
    if not raw:
        if default is None:
            raise SettingError(
                f"{name} is not set. It should be {form}; docs/settings.md lists every setting."
            )
        return default
    try:
        return parse(raw)
    except ValueError:
        raise SettingError(f"{name} is not valid: it should be {form}.") from None


def text(name: str, default: str | None = None) -> str:
    """The variable as it stands; without a default it must be set."""
    return _read(name, default, str, "text")


def integer(name: str, default: int | None = None) -> int:
    """A whole number."""
    return _read(name, default, int, "a whole number")


def port(name: str, default: int) -> int:
    """A port that one can listen on."""
    return _read(name, default, _parse_port, "a port, 1 to 65535")


def boolean(name: str, default: bool) -> bool:
    """`1`, `true`, `yes`, `on` or their opposites, in any case."""
    return _read(name, default, _parse_boolean, "one of 1, true, yes, on, 0, false, no, off")


def words(name: str, default: list[str] | None = None) -> list[str]:
    """A list, separated by commas."""
    return _read(
        name, default, lambda raw: [word.strip() for word in raw.split(",") if word.strip()], "a list, a,b,c"
    )


def _parse_port(raw: str) -> int:
    number = int(raw)
    if not 0 < number < 65536:
        raise ValueError(raw)
    return number


def _parse_boolean(raw: str) -> bool:
    if raw.lower() in {"1", "true", "yes", "on"}:
        return True
    if raw.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError(raw)
