"""The hub of this process's event loop, made on first use."""

import asyncio
from weakref import WeakKeyDictionary

from chat.live import metrics
from inference import valkey
from inference.hub import Hub

_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def current() -> Hub:
    """One hub a loop: all sockets and event streams of a web process share its connection."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        hub = _hubs[loop] = Hub(valkey.connect(), valkey.subscriber())
        metrics.READERS.set_function(lambda: hub.readers)
    return _hubs[loop]
