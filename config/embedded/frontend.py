"""Builds the web UI with the Node of the virtual environment, and only when its sources changed."""

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from config.embedded import processes

NOT_SOURCES = {"node_modules", "dist", "coverage"}
COMPRESSED = {".js", ".css", ".svg"}


def build(folder: Path, stamp: Path, log: Path) -> str:
    """Makes `dist/` say what the sources say; returns what was done. Raises StartFailed."""
    if not (folder / "package.json").exists():
        return "no frontend/ here"
    now = {"packages": _digest(_package_files(folder)), "sources": _digest(_sources(folder))}
    before = _read(stamp)
    if before == now and (folder / "dist" / "index.html").exists():
        return "unchanged"
    if before.get("packages") != now["packages"] or not (folder / "node_modules").is_dir():
        _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder, log)
    _run(["npm", "run", "build", "--silent"], folder, log)
    _compress(folder / "dist")
    stamp.write_text(json.dumps(now))
    return "built"


def node_path() -> str:
    """PATH with the environment's node and npm first: npm's scripts look for `node` there."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _run(command: list[str], folder: Path, log: Path) -> None:
    processes.run_to_end(command, log, environment={**os.environ, "PATH": node_path()}, folder=folder)


def _package_files(folder: Path) -> list[Path]:
    return [folder / "package.json", folder / "package-lock.json"]


def _sources(folder: Path) -> list[Path]:
    top = (path for path in folder.iterdir() if path.name not in NOT_SOURCES)
    return sorted(
        file for path in top for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()
    )


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name}\0".encode())
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def _read(stamp: Path) -> dict[str, str]:
    try:
        return dict(json.loads(stamp.read_text()))
    except (OSError, ValueError):
        return {}


def _compress(dist: Path) -> None:
    """Beside each file its gzip, which whitenoise finds and sends."""
    for path in [path for path in dist.rglob("*") if path.suffix in COMPRESSED]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
