"""What the fake engine is told to do: by flags, by /control, or by a directive in the last user message.

A directive is `[[tokens=100 gap_ms=20 cut_at=40]]`; a bare word is a true flag, `always` means times=0.
"""

import re
from typing import Any, Literal

import msgspec

_DIRECTIVE = re.compile(r"\[\[([^\[\]]*)\]\]")


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer: length, pace, forms, faults. Positions count the pieces of this call; -1 is never."""

    tokens: int = 20  # words of the whole answer, then it stops by itself
    first_ms: float = 0
    gap_ms: float = 0
    headers_ms: float = 0  # before the response's headers
    seeded: bool = False  # words carry a mark of the user message
    script: str = ""  # says this instead of numbered words
    crab_every: int = 0  # an astral character of two tokens after each so many words

    # forms of the stream that are no faults
    split: Literal["", "surrogates", "bytes", "empty"] = ""  # how the astral character's two tokens come
    bytewise: bool = False  # one byte a TCP segment
    crlf: bool = False
    comments: bool = False
    multiline: bool = False  # an event's data over two data lines
    empty_deltas: bool = False
    nul_at: int = -1
    bad_line_at: int = -1
    close_after: bool = False  # closes the connection after the answer without saying so, as llama.cpp does
    usage: bool = True
    done: bool = True

    # faults
    die_at: int = -1  # the process exits
    cut_at: int = -1  # the TCP connection is cut
    stall_at: int = -1
    stall_s: float = 0  # 0: for ever
    error_at: int = -1  # an error inside the 200
    abort_at: int = -1  # finish reason abort, [DONE], 200
    odd_at: int = -1  # a finish reason that nobody knows
    end_at: int = -1  # the body ends well, without a finish reason
    status: int = 0  # refuse with this status
    retry_after: str = ""
    drop: bool = False  # cut before the headers
    times: int = 1  # faults fire in the first so many calls for one user message; 0: in every one
    on: str = ""  # only on the engine of this name

    @property
    def faults(self) -> dict[int, str]:
        """Faults in mid-stream by position."""
        names = ("die", "cut", "stall", "error", "abort", "odd", "end")
        return {getattr(self, f"{name}_at"): name for name in names if getattr(self, f"{name}_at") >= 0}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The engine itself."""

    name: str = ""
    model: str = "fake"
    dialect: Literal["vllm", "llama.cpp"] = "vllm"
    slots: int = 64
    queue_limit: int = 0  # more waiting than this answer 503; 0: no limit
    context_length: int = 32_768
    loading: bool = False
    health_status: int = 200
    health_ms: float = 0


def changed(plan: Plan, given: dict[str, Any]) -> Plan:
    """The plan with these fields instead; raises msgspec.ValidationError for an unknown one."""
    return msgspec.convert({**msgspec.structs.asdict(plan), **given}, Plan, strict=False)


def directed(plan: Plan, user: str) -> Plan:
    """The plan with what the last directive of this message says."""
    found = _DIRECTIVE.findall(user)
    return changed(plan, dict(map(_item, found[-1].split()))) if found else plan


def _item(word: str) -> tuple[str, str]:
    if word in ("always", "once"):
        return "times", "0" if word == "always" else "1"
    name, equals, value = word.partition("=")
    return name, value if equals else "true"
