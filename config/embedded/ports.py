"""Finds a free port on loopback, the usual one if it can be had."""

import errno
import socket

HOST = "127.0.0.1"
_NO_SUCH_FAMILY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)  # a machine without IPv6


def free(preferred: int = 0, taken: frozenset[int] = frozenset()) -> int:
    """`preferred` if nobody listens there and it is not in `taken`, else one that the system picks."""
    if preferred and preferred not in taken and _is_free(preferred):
        return preferred
    while True:
        port = _any()
        if port not in taken:
            return port


def _is_free(port: int) -> bool:
    for family, host in ((socket.AF_INET, HOST), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")):  # noqa: S104
        if not _binds(family, host, port):
            return False
    return True


def _binds(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
            )  # a connection that just closed is no owner
            probe.bind((host, port))
    except OSError as error:
        return error.errno in _NO_SUCH_FAMILY
    return True


def _any() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
