"""Ports that are taken are passed by."""

import socket

import pytest

from config import env
from config.embedded import installation, ports


@pytest.fixture
def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_the_usual_port_if_it_is_free(listener: socket.socket) -> None:
    number = listener.getsockname()[1]
    listener.close()
    assert ports.free(number) == number


def test_another_if_somebody_listens_there(listener: socket.socket) -> None:
    with listener:
        number = listener.getsockname()[1]
        assert ports.free(number) not in {0, number}


def test_another_if_somebody_listens_there_for_all_addresses() -> None:
    with socket.create_server(("", 0)) as everywhere:
        number = everywhere.getsockname()[1]
        assert ports.free(number) != number


def test_another_if_we_gave_it_away_ourselves(listener: socket.socket) -> None:
    number = listener.getsockname()[1]
    listener.close()
    assert ports.free(number, frozenset({number})) != number


def test_what_was_taken_is_said(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    with listener:
        number = listener.getsockname()[1]
        monkeypatch.setenv("WEB_PORT", str(number))
        chosen = installation.choose_ports()
    assert chosen["web"].note == f"port {chosen['web'].number}, because {number} is taken"
    assert len({port.number for port in chosen.values()}) == len(installation.USUAL_PORTS)


@pytest.mark.parametrize("number", ["0", "65536", "-1", "eighty"])
def test_what_is_no_port_is_said_with_its_name(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_PORT", number)
    with pytest.raises(env.SettingError, match=r"WEB_PORT .* 1 to 65535"):
        installation.choose_ports()
