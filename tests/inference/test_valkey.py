"""The clients of Valkey: what a restart leaves in their pools is noticed before it is used."""

import asyncio

import redis

from inference import valkey as clients
from tests.engines.fixtures import eventually


async def test_connections_that_the_server_closed_are_not_handed_out(valkey_client: redis.Redis):
    client = clients.connect()
    try:
        await asyncio.gather(*(client.ping() for _ in range(5)))
        valkey_client.client_kill_filter(skipme=True)
        pool = client.connection_pool._available_connections
        assert len(pool) == 5
        await eventually(lambda: all(connection._reader.at_eof() for connection in pool))
        assert all(await asyncio.gather(*(client.ping() for _ in range(5))))
    finally:
        await client.aclose()


def test_nor_by_the_shared_client(valkey_client: redis.Redis):
    clients.shared.cache_clear()
    client = clients.shared()
    assert client.ping()
    valkey_client.client_kill_filter(skipme=True)
    assert client.ping()
