"""The hub of this process's event loop, made on first use."""

import asyncio
from weakref import WeakKeyDictionary

from inference import valkey
from inference.hub import Hub

_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def current() -> Hub:
    """One hub a loop: all sockets and event streams of a web process share its connection."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(valkey.connect(), valkey.subscriber())
    return _hubs[loop]
