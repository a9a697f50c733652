"""Lets a consumer close with 1009 (too big) and 1012 (restart) under daphne, as it can under uvicorn.

autobahn's sendClose takes only 1000 and 3000 to 4999 and makes 1011 of all else; the IANA registry of close codes
has both for servers. Nothing else of daphne is touched.
"""

from typing import Any

SERVER_CODES = frozenset({1009, 1012})


def allow() -> None:
    """Teach daphne's protocol these codes; nothing where daphne is not installed. May run twice."""
    try:
        from daphne.ws_protocol import WebSocketProtocol
    except ImportError:
        return
    usual = WebSocketProtocol.serverClose
    if getattr(usual, "allows_server_codes", False):
        return

    def server_close(self: Any, code: int | None = None) -> None:
        if code in SERVER_CODES:
            self.sendCloseFrame(code=code, isReply=False)
        else:
            usual(self, code)

    server_close.allows_server_codes = True  # type: ignore[attr-defined]
    WebSocketProtocol.serverClose = server_close
