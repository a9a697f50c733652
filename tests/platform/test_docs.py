"""The docs name every setting, command, target and metric, and none that is gone."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import get_commands
from prometheus_client import REGISTRY

from config.embedded.installation import ROOT, USUAL_PORTS

SETTINGS = (ROOT / "docs/settings.md").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()
OURS = {"accounts", "chat", "config", "inference", "memory", "moderation"}
ELSEWHERE = {"PYTHON", "PYTEST_WORKERS", "CI"}  # read by the Makefile, its scripts and tests/conftest.py


def read_settings(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        is_read = isinstance(node, ast.Call) and ast.unparse(node.func) in {
            *("env.text", "env.integer", "env.boolean", "env.words", "os.environ.get", "os.environ"),
        }
        if is_read and isinstance(node.args[0], ast.Constant):
            yield node.args[0].value


def settings() -> set[str]:
    sources = [source for app in OURS for source in (ROOT / app).rglob("*.py")]
    found = {name for source in sources for name in read_settings(source)}
    return (found | {f"{name.upper()}_PORT" for name in USUAL_PORTS}) - {"PATH"}


def documented_settings() -> set[str]:
    rows = [line.split("|")[1] for line in SETTINGS.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


def test_every_setting_is_documented_and_no_other() -> None:
    assert documented_settings() - ELSEWHERE == settings()


def test_every_command_of_ours_is_documented() -> None:
    ours = [name for name, app in get_commands().items() if app in OURS]
    assert ours
    assert [name for name in ours if f"`manage.py {name}" not in OPERATIONS] == []


def test_every_target_of_the_makefile_is_documented() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"up", "down", "clean", "check", "test", "help"} <= set(targets)
    assert [target for target in targets if f"`make {target}`" not in OPERATIONS] == []


def test_every_metric_is_documented_and_no_other() -> None:
    for source in (source for app in sorted(OURS) for source in (ROOT / app).rglob("metrics.py")):
        import_module(".".join(source.relative_to(ROOT).with_suffix("").parts))
    counted = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name
        for metric in REGISTRY.collect()
        if metric.name.startswith("parley_")
    }
    assert set(re.findall(r"^\| `(parley_\w+)`", OPERATIONS, re.MULTILINE)) == counted


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text())
    folder = (ROOT / page).parent
    assert [to for to in targets if not (folder / to).exists() and not to.endswith("screenshot.png")] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-encoder.txt", "requirements-dev.txt"])
def test_locks_pin_all_and_name_no_place(name: str) -> None:
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    assert [
        line for line in lines if not re.fullmatch(r"[a-z0-9-]+(\[[a-z,]+\])?==[0-9][0-9a-z.]*", line)
    ] == []
