"""Prints what a benchmark found: tables for people, the product beside what it is compared with."""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from platform import python_version

from benchmarks.figures import PRODUCT, Level

PACKAGES = ("django", "channels", "psycopg", "redis", "aiohttp", "msgspec", "uvloop")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need, numbers to the right."""
    cells = [[*map(str, head)], *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def first_tokens(levels: Sequence[Level]) -> str:
    """First token, gaps and pace of each level beside the direct client's."""
    rows = []
    for level in levels:
        for name, windows, place in (("product", level.product, 0), ("direct", level.direct, 1)):
            samples = sum(len(window.first_ms()) for window in windows)
            seconds = sum(window.seconds for window in windows)
            pace = sum(window.words for window in windows) / seconds
            p50, p99 = level.first_ms(0.5), level.first_ms(0.99)
            added = (p50[2], p99[2]) if name == "product" else ("", "")
            rows.append(
                [level.streams, name, samples, p50[place], p99[place], *added, level.late()[place], pace]
            )
    head = ["streams", "client", "answers", "p50 ms", "p99 ms", "added p50", "added p99", "late", "tokens/s"]
    return table(head, rows)


def processor(levels: Sequence[Level]) -> str:
    """CPU milliseconds per 1,000 tokens by process."""
    names = [*PRODUCT, "postgres", "engine", "load"]
    rows = [
        [level.streams, *(level.per_1k_ms(name) for name in names), level.per_1k_ms(*PRODUCT), level.cores()]
        for level in levels
    ]
    return table(["streams", *names, "web+disp+valkey", "cores busy"], rows)


def by_process(unit: str, values: Mapping[str, float]) -> str:
    """One row of figures by process."""
    return table(["", *values, "sum"], [[unit, *values.values(), sum(values.values())]])


def versions(server: str) -> dict[str, str]:
    """What was measured, for the JSON line."""
    found = {name: version(name) for name in (*PACKAGES, server)}
    return {"python": python_version(), "cores": str(os.cpu_count()), **found}


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)
