"""The hot statements: SQL files run as prepared statements on a psycopg pool of the dispatcher's own.

Nothing per request of the web comes in here; views use the ORM or Django's own connection.
"""

from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections
from psycopg import sql
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from inference.seams import RowsDown

SQL = Path(__file__).parent / "sql"

Row = tuple[Any, ...]


@cache
def text(name: str) -> str:
    """sql/NAME.sql without its comments, whose parameter names are for people."""
    lines = (SQL / f"{name}.sql").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


@cache
def _composed(name: str) -> sql.SQL:
    return sql.SQL(text(name))


class Statements:
    """Runs one statement at a time, autocommitted: each is its own transaction."""

    def __init__(self, pool: AsyncConnectionPool) -> None:
        self._pool = pool

    @classmethod
    def connect(cls, size: int = 8) -> "Statements":
        """A pool to Django's default database; `open` it in the running loop."""
        wrapper = connections["default"]
        parameters = {k: v for k, v in wrapper.get_connection_params().items() if k in _CONNECTION_KEYS}
        conninfo = psycopg.conninfo.make_conninfo(**parameters)
        kwargs = {"autocommit": True, "prepare_threshold": 0}
        return cls(
            AsyncConnectionPool(conninfo, min_size=1, max_size=size, timeout=2, open=False, kwargs=kwargs)
        )

    async def open(self) -> None:
        """Start connecting in the background."""
        await self._pool.open()

    async def close(self) -> None:
        """Give all connections back."""
        await self._pool.close()

    async def run(self, name: str, **parameters: Any) -> list[Row]:
        """The rows of sql/NAME.sql. Raises RowsDown where Postgres can't be reached or gave up."""
        try:
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_composed(name), parameters)
                return await cursor.fetchall() if cursor.description else []
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, OSError) as error:
            raise RowsDown(type(error).__name__) from error


_CONNECTION_KEYS = {"dbname", "user", "password", "host", "port", "sslmode", "sslrootcert"}
