"""What a storm is judged by: characters lost and repeated, answers unfinished, leases left, text rewound.

No I/O: what is compared was seen elsewhere.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

# These are zero in every storm; `rewound_chars` too where one thing fails at a time.
ZERO = ("lost_chars", "repeated_chars", "unfinished", "leaked_leases", "miscounted", "broken")


@dataclass(slots=True)
class Counts:
    """Grows while the storm lasts; `notes` say in words what was counted."""

    lost_chars: int = 0
    repeated_chars: int = 0
    unfinished: int = 0
    leaked_leases: int = 0
    rewound_chars: int = 0
    miscounted: int = 0
    broken: int = 0
    answers: int = 0
    readers: int = 0
    reconnects: int = 0
    snapshots: int = 0
    faults: int = 0
    recovery_s: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def note(self, words: str) -> None:
        """Keep the first of what went wrong."""
        if len(self.notes) < 40:
            self.notes.append(f"{time.strftime('%H:%M:%S')} {words}")

    def compare(self, seen: str, expected: str, where: str) -> None:
        """Count what a text that should be the beginning of another lost or repeats."""
        lost, repeated = differences(seen, expected)
        self.lost_chars += lost
        self.repeated_chars += repeated
        if lost or repeated:
            self.note(f"{where}: lost {lost}, repeated {repeated}: {seen[-80:]!r}")

    def passed(self, mode: str) -> bool:
        """Whether nothing went wrong that must not."""
        names = ZERO if mode == "double" else (*ZERO, "rewound_chars")
        return not any(getattr(self, name) for name in names)

    def report(self, **more: Any) -> dict[str, Any]:
        """As one JSON object; the five of the promise come first."""
        spent = sorted(self.recovery_s)
        figures = {name: getattr(self, name) for name in (*ZERO[:4], "rewound_chars", *ZERO[4:])}
        figures |= {
            name: getattr(self, name) for name in ("answers", "readers", "reconnects", "snapshots", "faults")
        }
        return {
            **figures,
            "recovery_p50_s": round(spent[len(spent) // 2], 1) if spent else None,
            "recovery_max_s": round(spent[-1], 1) if spent else None,
            "refusals": dict(self.refusals),
            "notes": self.notes,
            **more,
        }


def differences(seen: str, expected: str) -> tuple[int, int]:
    """Characters lost and repeated where `seen` stops being a beginning of `expected`; (0, 0) if it never does."""
    if expected.startswith(seen):
        return 0, 0
    same = next(
        (n for n, pair in enumerate(zip(seen, expected, strict=False)) if pair[0] != pair[1]), len(expected)
    )
    rest = seen[same : same + 16]
    at = expected.find(rest)
    if at < 0:
        return len(expected) - same, 0
    return max(0, at - same), max(0, same - at) if at < same else 0
