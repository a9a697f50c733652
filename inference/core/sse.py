"""Server-sent events out of a stream of bytes, however the network cut them.

Pure. Only the data of an event is kept; what the data means is not known here.
"""

# A first event may list the ids of a long prompt; more than this without a line's end is no event stream.
MAX_LINE_BYTES = 8_000_000


class Parser:
    """Feed it blocks as they come; it gives the data of each event that is complete."""

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, block: bytes) -> list[bytes]:
        """The data of every event that ended in this block; raises ValueError for an endless line."""
        lines = (self._rest + block).split(b"\n") if self._rest else block.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE_BYTES:
            raise ValueError("a line of the event stream has no end")
        events: list[bytes] = []
        for line in lines:
            self._line(line[:-1] if line.endswith(b"\r") else line, events)
        return events

    def _line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line and self._data:
            events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
            self._data.clear()
