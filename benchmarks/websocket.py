"""A websocket client that costs next to nothing: frames in, bytes to a callback, in the protocol's own call.

Only what a load client needs of RFC 6455: a header, whole text frames, pings. Its mask is zero, which is allowed.
"""

import asyncio
import base64
import os
import struct
import time
from collections.abc import Callable
from typing import cast

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
_MASK = bytes(4)


class WebSocket(asyncio.Protocol):
    """`take(payload, at)` gets each text frame and when its bytes came; `lost(reason)` the end."""

    def __init__(
        self, port: int, token: str, take: Callable[[bytes, float], None], lost: Callable[[str], None]
    ) -> None:
        self._port, self._token = port, token
        self._take, self._lost = take, lost
        self._buffer = b""
        self._upgraded = False
        self._transport: asyncio.Transport | None = None

    async def connect(self) -> None:
        """Begin; the server's hello comes as the first frame."""
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, "127.0.0.1", self._port)

    def send(self, payload: bytes) -> None:
        """One text frame."""
        self._write(TEXT, payload)

    def close(self) -> None:
        """Hang up in order."""
        if self._transport is not None and not self._transport.is_closing():
            self._write(CLOSE, struct.pack("!H", 1000))
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the upgrade."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET /ws/v1/ HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            f"Authorization: Bearer {self._token}",
        ]
        self._transport.write("\r\n".join([*lines, "", ""]).encode())

    def data_received(self, data: bytes) -> None:
        """Every whole frame that is there."""
        at = time.perf_counter()
        buffer = self._buffer + data if self._buffer else data
        if not self._upgraded:
            head, blank, buffer = buffer.partition(b"\r\n\r\n")
            if not blank:
                self._buffer = head
                return
            if b" 101 " not in head.partition(b"\r\n")[0]:
                return self._lost(head.decode(errors="replace"))
            self._upgraded = True
        self._buffer = self._frames(buffer, at)

    def connection_lost(self, error: Exception | None) -> None:
        """Whoever waits is told."""
        self._lost(str(error or "the connection was closed"))

    def _frames(self, buffer: bytes, at: float) -> bytes:
        """Takes whole frames off the front; what is left."""
        start, size = 0, len(buffer)
        while size - start >= 2:
            length, body = buffer[start + 1] & 0x7F, start + 2
            if length >= 126:
                wide = 2 if length == 126 else 8
                length, body = int.from_bytes(buffer[body : body + wide]), body + wide
            if size < body + length:
                break
            self._frame(buffer[start] & 0x0F, buffer[body : body + length], at)
            start = body + length
        return buffer[start:]

    def _frame(self, kind: int, payload: bytes, at: float) -> None:
        if kind == TEXT:
            self._take(payload, at)
        elif kind == PING:
            self._write(PONG, payload)
        elif kind == CLOSE:
            self._lost(f"closed with {int.from_bytes(payload[:2])}")

    def _write(self, kind: int, payload: bytes) -> None:
        assert self._transport is not None
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack("!H", size)
        self._transport.write(bytes([0x80 | kind]) + length + _MASK + payload)
