"""The meters of one round: what each process used of CPU between the window's edges, and memory at them.

Reads usage.py for a set of named processes; judges nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks import usage


@dataclass(slots=True)
class Meters:
    """Call it at each edge. `cpu_s` is by process; `memory_kb` has one reading an edge, of those asked for."""

    pids: Mapping[str, int]
    weighed: tuple[str, ...] = ()
    cpu_s: dict[str, float] = field(default_factory=dict)
    memory_kb: list[dict[str, int]] = field(default_factory=list)

    def __call__(self) -> None:
        """The first edge starts, the second ends."""
        for name, pid in self.pids.items():
            # Postgres is a process a connection; the others are one each, and what the load started is not its own.
            now_s = usage.tree_cpu_s(pid) if name == "postgres" else usage.cpu_s(pid)
            self.cpu_s[name] = now_s - self.cpu_s.get(name, 0.0)
        if self.weighed:
            self.memory_kb.append({name: usage.memory_kb(self.pids[name]) for name in self.weighed})
