"""Builds the web UI with the Node of the virtual environment, and only when its sources changed."""

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from config.embedded import installation, processes, progress

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
    _install(folder, stamp, log)
    _run(["npm", "run", "build", "--silent"], folder, log)
    _compress(folder / "dist")
    stamp.write_text(json.dumps(now))
    return "built"


def test(folder: Path, stamp: Path, log: Path) -> None:
    """Types and tests of the UI; raises StartFailed."""
    _install(folder, stamp, log)
    for script in ("typecheck", "test"):
        _run(["npm", "run", script, "--silent"], folder, log)


def node_path() -> str:
    """PATH with the environment's node and npm first: npm's scripts look for `node` there."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _install(folder: Path, stamp: Path, log: Path) -> None:
    packages = _digest(_package_files(folder))
    before = _read(stamp)
    if before.get("packages") != packages or not (folder / "node_modules").is_dir():
        _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder, log)
        stamp.write_text(json.dumps({**before, "packages": packages}))


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


def main() -> int:
    """`build` or `test`, for the Makefile; 1 and the end of the log if it failed."""
    installation.make_folders()
    log = installation.log("web-ui")
    log.unlink(missing_ok=True)
    place = installation.ROOT / "frontend", installation.DATA / "frontend.json", log
    wanted = sys.argv[1]
    try:
        with progress.step(f"Web UI, {wanted}") as notes:
            if wanted == "test":
                test(*place)
            else:
                notes.append(build(*place))
    except processes.StartFailed as problem:
        progress.say(f"  {problem}\n{progress.tail(log)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
