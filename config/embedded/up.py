"""`make up`: every part of Parley on this machine, one line a step, until Ctrl-C.

DATABASE_URL, VALKEY_URL and CATALOGUE in the environment replace the embedded part of that name.
"""

import http.client
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from config import env
from config.embedded import credentials, frontend, installation, postgres, processes, services, state, valkey
from config.embedded.installation import LOGS, log, manage
from config.embedded.progress import say, step, tail
from config.embedded.supervisor import Service, Supervisor

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Somebody asked for the end."""


class Start:
    """The steps, in order. Each leaves what the next ones need in `settings`."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._ports = installation.choose_ports()
        self._credentials = credentials.load(installation.SECRETS)
        self.address = f"http://localhost:{self._ports['web'].number}"
        self.settings = installation.environment(
            SECRET_KEY=self._credentials.secret_key,
            ENGINE_API_KEY=self._credentials.engine_key,
            PUBLIC_URL=env.text("PUBLIC_URL", self.address),
            ENCODER_URL=env.text("ENCODER_URL", f"http://127.0.0.1:{self._ports['encoder'].number}"),
        )

    def run(self) -> str:
        """Everything, until an answer streams; returns how to get in."""
        self._database()
        self._cache()
        self._engine()
        self._web_ui()
        web = services.web(self._ports["web"].number, self.settings)
        self._supervisor.start(web)  # takes as long to load as the migrations do
        self._rows()
        self._web(web)
        self._dispatchers()
        self._answer()
        self._background()
        return f"Parley is ready: {self.address}  ({self._way_in()})"

    def _database(self) -> None:
        with step("Postgres 18 with pgvector") as notes:
            if _given("DATABASE_URL", notes):
                return
            port, password = self._ports["postgres"], self._credentials.database_password
            notes.append(port.note)
            who = postgres.prepare(installation.DATA / "postgres", password)
            self._wait(
                services.database(port.number, who), lambda: postgres.accepts(port.number, password), 60
            )
            postgres.ensure_database(port.number, password)
            self.settings["DATABASE_URL"] = postgres.url(port.number, password)

    def _cache(self) -> None:
        with step("Valkey") as notes:
            if _given("VALKEY_URL", notes):
                return
            port, password = self._ports["valkey"], self._credentials.valkey_password
            notes.append(port.note)
            self._wait(
                services.cache(port.number, password), lambda: valkey.answers(port.number, password), 20
            )
            self.settings["VALKEY_URL"] = valkey.url(port.number, password)

    def _engine(self) -> None:
        with step("Engine (SmolLM2 on llama.cpp)") as notes:
            if _given("CATALOGUE", notes):
                return
            port = self._ports["engine"]
            notes.append(port.note)
            self._wait(
                services.engine(port.number, self.settings), lambda: _is_ok(port.number, "/health"), 120
            )
            services.write_catalogue(installation.CATALOGUE, port.number)
            self.settings["CATALOGUE"] = str(installation.CATALOGUE)

    def _web_ui(self) -> None:
        with step("Web UI") as notes:
            stamp = installation.DATA / "frontend.json"
            notes.append(frontend.build(installation.ROOT / "frontend", stamp, log("web-ui")))

    def _rows(self) -> None:
        with step("Migrations and administrator") as notes:
            self._manage(
                *("prepare_database", "--admin", installation.ADMIN_EMAIL),
                ADMIN_PASSWORD=self._credentials.admin_password,
            )
            notes.append("up to date")

    def _way_in(self) -> str:
        shown = installation.DATA / "administrator-shown"
        secrets = installation.SECRETS.relative_to(installation.ROOT)
        password = (
            f"in {secrets}" if shown.exists() else f"{self._credentials.admin_password}, kept in {secrets}"
        )
        shown.touch()
        return f"administrator: {installation.ADMIN_EMAIL}, password {password}; admin pages at /admin/"

    def _web(self, web: Service) -> None:
        with step("Web server (daphne)") as notes:
            port = self._ports["web"]
            notes.append(port.note)
            self._until(lambda: _is_ok(port.number, "/healthz"), web.name, 60)

    def _dispatchers(self) -> None:
        count = env.integer("DISPATCHERS", 2)
        with step("Dispatchers") as notes:
            for number in range(1, count + 1):
                self._supervisor.start(services.dispatcher(number, self.settings))
            self._until(lambda: _is_ok(self._ports["web"].number, "/readyz"), "web", 60)
            notes.append(str(count))

    def _answer(self) -> None:
        with step("First answer") as notes:
            self._manage("try_answer", f"http://127.0.0.1:{self._ports['web'].number}")
            notes.append("it streams")

    def _background(self) -> None:
        with step("Celery worker and beat"):
            self._supervisor.start(services.worker(self.settings))
            self._supervisor.start(services.beat(self.settings))
        with step("Encoder") as notes:
            if not _given("ENCODER_URL", notes):
                port = self._ports["encoder"]
                self._supervisor.start(services.encoder(port.number, self.settings))
                notes.append(f"{port.note}, loading in the background")

    def _wait(self, service: Service, ready: Callable[[], bool], wait_s: float) -> None:
        self._supervisor.start(service)
        self._until(ready, service.name, wait_s)

    def _until(self, ready: Callable[[], bool], name: str, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while not ready():
            self._supervisor.tend()
            hopeless = self._supervisor.hopeless()
            if hopeless:
                raise processes.StartFailed(f"{hopeless} keeps ending", log(hopeless))
            if time.monotonic() > until:
                raise processes.StartFailed(f"{name} is not ready after {wait_s:.0f} s", log(name))
            time.sleep(0.05)

    def _manage(self, *arguments: str, **settings: str) -> None:
        output = log(arguments[0])
        output.unlink(missing_ok=True)
        processes.run_to_end(
            manage(*arguments),
            output,
            environment={**self.settings, **settings},
            folder=installation.ROOT,
        )


def main() -> int:
    """Runs until it is asked to end; 0 unless something could not start."""
    installation.make_folders()
    try:
        with state.only_one(installation.LOCK):
            return _run()
    except state.AlreadyRunning:
        address = state.Record.load(installation.RECORD).address
        say(f"Parley is running already: {address or 'it is just starting'}. `make down` stops it.")
        return 0


def _run() -> int:
    before = state.Record.load(installation.RECORD)
    left = state.stop_leftovers(before, services.END_SIGNALS)
    if left:
        say(f"  Stopped what a killed run had left: {', '.join(left)}")
    record = state.Record(supervisor=state.Process.of(os.getpid()))
    supervisor = Supervisor(record, installation.RECORD, lambda line: say(f"  {line}"))
    for number in ENDING:
        signal.signal(number, _interrupt)
    try:
        start = Start(supervisor)
        record.address = start.address
        say(start.run())
        while True:
            supervisor.tend()
            time.sleep(0.2)
    except Interrupted:
        say("  Stopping ...")
        return 0
    except (processes.StartFailed, postgres.CannotStepDown, env.SettingError) as problem:
        _explain(problem)
        return 1
    finally:
        _ignore_signals()
        supervisor.stop_all()
        say("Parley has stopped.")


def _interrupt(number: int, frame: FrameType | None) -> None:
    _ignore_signals()  # the end is bounded in time; a second signal must not cut it short
    raise Interrupted


def _ignore_signals() -> None:
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _given(name: str, notes: list[str]) -> bool:
    if not os.environ.get(name):
        return False
    notes.append(f"yours, from {name}")
    return True


def _is_ok(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _explain(problem: Exception) -> None:
    say(f"  {problem}")
    path = getattr(problem, "log", None)
    if path and tail(path):
        say(f"  The end of {path.relative_to(installation.ROOT)}:\n{tail(path)}")
    say(f"  All logs are in {LOGS.relative_to(installation.ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
