"""The project's own Python files, for tests that read them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "chat", "config", "inference", "memory", "moderation")


def modules(*folders: str) -> Iterator[Path]:
    """Every module in these folders but for migrations."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text())


def name(path: Path) -> str:
    """The path from the root of the project."""
    return str(path.relative_to(ROOT))
