"""What processes used, as the kernel counts it: CPU seconds and memory.

Read from /proc at the edges of a measured window only; nothing is sampled while one runs.
"""

import os
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat, counted from the one after the name in brackets.
_PARENT, _CHILDREN_USER, _CHILDREN_SYSTEM = 1, 13, 14


def cpu_s(pid: int) -> float:
    """CPU seconds of one process since its start: those of all threads that it has now, to the nanosecond."""
    total_ns = 0
    for thread in (_PROC / str(pid) / "task").iterdir():
        try:
            total_ns += int((thread / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
    return total_ns / 1e9


def tree_cpu_s(pid: int) -> float:
    """The same of a process, its children and theirs, with those that have ended and were waited for."""
    stats = _all_stats()
    return _tree_s(pid, stats)


def memory_kb(pid: int) -> int:
    """Proportional set size of one process in KB: pages it shares count by its share."""
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "Pss":
            return int(value.split()[0])
    raise ValueError("this kernel tells no Pss")


def _tree_s(pid: int, stats: dict[int, list[str]]) -> float:
    fields = stats[pid]
    ended_s = (int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])) / _TICKS
    children = [child for child, its in stats.items() if its[_PARENT] == str(pid)]
    return ended_s + cpu_s(pid) + sum(_tree_s(child, stats) for child in children)


def _all_stats() -> dict[int, list[str]]:
    stats = {}
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            raw = (folder / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        stats[int(folder.name)] = raw.rpartition(")")[2].split()
    return stats
