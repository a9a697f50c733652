"""Dispatchers and their answers as rows on a real Postgres; who is dead had its heartbeat set back."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from psycopg import sql

from chat.lifecycle import Rows, Sink
from chat.models import Generation, Message
from chat.statements import Statements
from inference.answer import Piece
from tests.factories.chat import make_branch, make_conversation, make_generation

USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


class Owned:
    """Both sets of statements on a pool in a loop of its own, called from sync tests."""

    def __init__(self, runner: asyncio.Runner, statements: Statements) -> None:
        self.run = runner.run
        self.statements = statements
        self.rows, self.sink = Rows(statements), Sink(statements)

    def both(self, *calls: Any) -> list[Any]:
        """All at once, each on a connection of its own."""

        async def gather() -> list[Any]:
            return list(await asyncio.gather(*calls))

        return list(self.run(gather()))


@contextmanager
def pooled() -> Iterator[Owned]:
    """The statements on a pool, closed with the block."""
    with asyncio.Runner() as runner:
        statements = Statements.connect()
        runner.run(statements.open())
        yield Owned(runner, statements)
        runner.run(statements.close())


def queued_answer(**fields: Any) -> Generation:
    _, message = make_branch(make_conversation(), 2)
    Message.objects.filter(pk=message.pk).update(parts=[])
    return make_generation(message, Generation.State.QUEUED, **fields)


def age(table: str, column: str, pk: UUID, seconds: float) -> None:
    """As if it had been written so long ago."""
    ago = sql.SQL("UPDATE {} SET {} = now() - make_interval(secs => %s) WHERE id = %s")
    with connection.cursor() as cursor:
        cursor.execute(ago.format(sql.Identifier(table), sql.Identifier(column)), [seconds, pk])


def dispatcher(owned: Owned) -> UUID:
    owner = uuid4()
    owned.run(owned.rows.register(owner))
    return owner


def dies(owner: UUID) -> None:
    age("chat_dispatcher", "heartbeat_at", owner, 3.5)


def piece(pk: UUID, attempt: int, n_from: int, n_to: int, text: str, at: int = 0) -> Piece:
    return Piece(pk, attempt, n_from, n_to, {"at": at, "text": text, "ids_at": 0, "ids": None, "tokens": 1})
