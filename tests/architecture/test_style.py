"""Size and words: files of one purpose, short functions, and a docstring where a reader begins."""

import ast
from pathlib import Path

import pytest

from tests.architecture.source import APPS, modules, name, tree

FILE_LINES, FUNCTION_LINES = 500, 60
OURS = [path for path in modules(*APPS) if path.stat().st_size > 0]
ALL = [*OURS, *modules("tests", "benchmarks")]


@pytest.mark.parametrize("path", OURS, ids=name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree(path))


@pytest.mark.parametrize("path", ALL, ids=name)
def test_files_and_functions_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES
    functions = [n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f.name for f in functions if f.end_lineno and f.end_lineno - f.lineno >= FUNCTION_LINES]
    assert long == []


@pytest.mark.parametrize("path", OURS, ids=name)
def test_no_module_is_a_grab_bag(path: Path) -> None:
    assert path.stem not in {"utils", "helpers", "common", "misc"}
