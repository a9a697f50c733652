"""HTTP to the replicas: which connections are kept, what is sent again, and errors as inference's own.

Nothing of OpenAI's forms in here, and no judgement over a stream once its first byte came.
"""

from types import SimpleNamespace
from typing import Any, TypeVar

import aiohttp
import msgspec

from inference import faults
from inference.core.values import ReplicaView
from inference.errors import StreamCut, Unavailable

_CONNECT_S = 3.0
_HEALTH_S = 1.0
# Below the five seconds after which both engines close an idle connection.
_KEEP_S = 4.0
_BODY_BYTES = 65_536
T = TypeVar("T")
_OPEN_ENDED = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)


class Connections:
    """One pool that keeps connections and one that never does, made when first used, in one event loop."""

    def __init__(self) -> None:
        self._pools: dict[bool, aiohttp.ClientSession] = {}

    async def post(self, replica: ReplicaView, path: str, body: bytes) -> aiohttp.ClientResponse:
        """The response, status 200, its body unread; the caller closes it. Raises inference's errors.

        A kept connection that the engine had closed meanwhile is no fault: the request goes out once more.
        """
        try:
            response = await self._post_twice(replica, path, body)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unavailable(type(error).__name__) from None
        except (aiohttp.ClientError, OSError):
            raise StreamCut("connection") from None
        if response.status == 200:
            return response
        raise faults.from_status(response.status, response.headers, await _body_of(response))

    async def ask(self, replica: ReplicaView, path: str, body: bytes, form: type[T]) -> T:
        """One question and its whole answer in the form asked for; raises inference's errors."""
        response = await self.post(replica, path, body)
        try:
            return msgspec.json.decode(await response.read(), type=form)
        except msgspec.DecodeError:
            raise StreamCut("garbage") from None
        except (aiohttp.ClientError, OSError):
            raise StreamCut("connection") from None
        finally:
            response.close()

    async def healthy(self, replica: ReplicaView) -> bool:
        """Whether `/health` says 200 within a second; never raises."""
        try:
            async with self._pool(keeps=False).get(
                f"{replica.url}/health",
                headers=_headers(replica),
                timeout=aiohttp.ClientTimeout(total=_HEALTH_S),
                allow_redirects=False,
            ) as response:
                return response.status == 200
        except (aiohttp.ClientError, OSError):
            return False

    async def close(self) -> None:
        """Closes every connection."""
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()

    async def _post_twice(self, replica: ReplicaView, path: str, body: bytes) -> aiohttp.ClientResponse:
        used = SimpleNamespace(reused=False)
        try:
            return await self._post(replica, path, body, used, keeps=replica.keeps_connections)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise
        except (aiohttp.ClientConnectionError, OSError):
            if not used.reused:
                raise
        return await self._post(replica, path, body, used, keeps=False)

    async def _post(
        self, replica: ReplicaView, path: str, body: bytes, used: SimpleNamespace, *, keeps: bool
    ) -> aiohttp.ClientResponse:
        return await self._pool(keeps).post(
            f"{replica.url}{path}",
            data=body,
            headers=_headers(replica),
            timeout=_OPEN_ENDED,
            allow_redirects=False,
            trace_request_ctx=used,
        )

    def _pool(self, keeps: bool) -> aiohttp.ClientSession:
        if keeps not in self._pools:
            self._pools[keeps] = aiohttp.ClientSession(
                connector=_kept() if keeps else aiohttp.TCPConnector(limit=0, force_close=True),
                trace_configs=[_tracing()],
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._pools[keeps]


def _kept() -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_S)


def _tracing() -> aiohttp.TraceConfig:
    """Notes on each request whether its connection had been used before."""

    async def reused(session: aiohttp.ClientSession, context: SimpleNamespace, params: Any) -> None:
        context.trace_request_ctx.reused = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(reused)
    return config


def _headers(replica: ReplicaView) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if replica.api_key:
        headers["Authorization"] = f"Bearer {replica.api_key}"
    return headers


async def _body_of(response: aiohttp.ClientResponse) -> bytes:
    """The beginning of a refusal; one that breaks off keeps the words that came."""
    body = b""
    try:
        while len(body) < _BODY_BYTES and (block := await response.content.readany()):
            body += block
    except (aiohttp.ClientError, OSError):
        pass
    finally:
        response.close()
    return body
