"""Surfaces fetch rows through chat/access.py only: what is somebody else's must not depend on a view's care."""

import ast
from pathlib import Path

import pytest

from tests.architecture.source import APPS, modules, name, tree

FETCHES = {"objects", "_default_manager", "_base_manager", "get_object_or_404", "get_list_or_404"}
# Reads what a reader misses, by a key that access.py gave before.
AFTER_ACCESS = {"chat/live/tail.py"}


def is_surface(path: Path) -> bool:
    """Whether requests, frames or tasks come in here."""
    named = path.stem in {"views", "consumer", "tasks"} or {"rest", "live", "openai"} & set(path.parts)
    return bool(named) and name(path) not in AFTER_ACCESS


SURFACES = [path for path in modules(*APPS) if is_surface(path)]


def fetches(source: ast.Module) -> list[int]:
    """The lines that would get a row without asking whose it is."""
    return sorted(
        node.lineno
        for node in ast.walk(source)
        if (isinstance(node, ast.Attribute) and node.attr in FETCHES)
        or (isinstance(node, ast.Name) and node.id in FETCHES)
    )


@pytest.mark.parametrize("path", SURFACES, ids=name)
def test_a_surface_fetches_no_row_by_itself(path: Path) -> None:
    assert fetches(tree(path)) == []


def test_the_check_sees_what_it_looks_for() -> None:
    assert fetches(ast.parse("a = 1\nMessage.objects.get(pk=1)\nget_object_or_404(Message, pk=1)")) == [2, 3]
    assert {"chat/rest/views.py", "chat/live/consumer.py"} <= {name(path) for path in SURFACES}
