"""The supervisor with real children: starts, brings back, ends in order, leaves nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.embedded import processes
from config.embedded.state import Process, Record, stop_leftovers
from config.embedded.supervisor import MOST_FAILURES, Service, Supervisor

SLEEPER = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\nwhile True: signal.pause()",
]


def eventually(condition: Callable[[], bool], wait_s: float = 20) -> bool:
    until = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Clock:
    """Time that only moves when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, clock: Clock, said: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(Record(), tmp_path / "run.json", said.append, clock)
    yield made
    made.stop_all()


def service(name: str, tmp_path: Path, command: list[str] = SLEEPER, order: int = 0) -> Service:
    return Service(name, lambda: processes.start(command, tmp_path / f"{name}.log"), order, wait_s=0.3)


def is_up(name: str, tmp_path: Path) -> Callable[[], bool]:
    return lambda: (tmp_path / f"{name}.log").read_text().startswith("up")


def test_a_dead_child_is_started_again_and_a_line_says_so(
    supervisor: Supervisor, tmp_path: Path, said: list[str]
) -> None:
    child = supervisor.start(service("web", tmp_path))
    child.kill()
    child.wait()
    supervisor.tend()
    pid = json.loads((tmp_path / "run.json").read_text())["children"]["web"]["pid"]
    assert pid != child.pid
    assert Process.of(pid).is_alive()
    assert said == ["web ended (killed by SIGKILL), starting it again"]


def test_a_child_that_keeps_dying_is_started_ever_later_and_called_hopeless(
    supervisor: Supervisor, tmp_path: Path, clock: Clock, said: list[str]
) -> None:
    command = [sys.executable, "-c", "import os; os.write(1, b'x'); raise SystemExit(3)"]
    supervisor.start(service("web", tmp_path, command))
    for deaths in range(1, MOST_FAILURES + 2):
        assert eventually(lambda n=deaths: _deaths_said(supervisor, said) == n)
        clock.now += 30
    assert said[:3] == [
        "web ended (exit code 3), starting it again",
        "web ended (exit code 3), again in 1 s",
        "web ended (exit code 3), again in 2 s",
    ]
    assert supervisor.hopeless() == "web"


def _deaths_said(supervisor: Supervisor, said: list[str]) -> int:
    supervisor.tend()
    return len(said)


def test_all_end_even_one_that_does_not_listen(supervisor: Supervisor, tmp_path: Path) -> None:
    children = [
        supervisor.start(service("web", tmp_path)),
        supervisor.start(service("deaf", tmp_path, STUBBORN, 1)),
    ]
    assert eventually(is_up("deaf", tmp_path))
    supervisor.stop_all()
    assert [child.returncode for child in children] == [-signal.SIGTERM, -signal.SIGKILL]
    assert Record.load(tmp_path / "run.json").children == {}


def test_children_die_with_a_killed_supervisor(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    code = (
        "import sys; from pathlib import Path; from config.embedded import processes\n"
        f"child = processes.start({SLEEPER!r}, Path({str(log)!r}))\n"
        "print(child.pid, flush=True)\nchild.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = Process.of(int(parent.stdout.readline()))
        assert eventually(lambda: log.read_text().startswith("up"))
        parent.kill()
    assert eventually(lambda: not child.is_alive())


def test_leftovers_of_a_killed_run_are_stopped_by_name(tmp_path: Path) -> None:
    children = {
        name: processes.start(command, tmp_path / f"{name}.log")
        for name, command in (("web", SLEEPER), ("deaf", STUBBORN))
    }
    assert eventually(lambda: all(is_up(name, tmp_path)() for name in children))
    record = Record(children={name: Process.of(child.pid) for name, child in children.items()})
    assert stop_leftovers(record, {}, wait_s=0.3) == ["web", "deaf"]
    assert [child.wait() for child in children.values()] == [-signal.SIGTERM, -signal.SIGKILL]


def test_a_process_that_only_has_the_pid_of_ours_is_left_alone(tmp_path: Path) -> None:
    child = processes.start(SLEEPER, tmp_path / "other.log")
    try:
        recorded = Process(child.pid, Process.of(child.pid).began + "0")
        assert stop_leftovers(Record(children={"web": recorded}), {}, wait_s=0.3) == []
        assert child.poll() is None
    finally:
        processes.stop(child, 5)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"children": {"web": 1}}', '{"children": []}'])
def test_a_record_that_can_not_be_read_is_an_empty_one(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    assert Record.load(path) == Record()


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    record = Record("http://localhost:1", Process.of(os.getpid()), {"web": Process(1, "then")})
    record.save(tmp_path / "run.json")
    assert Record.load(tmp_path / "run.json") == record
