"""A take-over from an owner that still writes: what it adds between the read and the `open` is not cut off."""

from typing import Any
from uuid import uuid4

import redis.asyncio

from inference.answer import Answer, Claim, Work
from inference.core.events import EntryId
from inference.core.values import Progress, Request
from inference.opening import Lease, Opening
from inference.streams import Log
from tests.inference.following import Writer


def taken_over(writer: Writer, log: Log) -> tuple[Answer, Opening]:
    """An attempt above the writer's, that stands on the log as it is now."""
    lease = Lease()
    lease.confirm()
    work = Work(
        Request(model="m", messages=[], max_tokens=10),
        Progress(writer.text),
        stands_on=EntryId(writer.attempt, writer.n),
    )
    answer = Answer(Claim(writer.pk, writer.attempt + 1, "m", "1", None, 0, False, 60.0), uuid4(), work)
    rows: Any = None  # not to be asked: no new attempt is needed
    return answer, Opening(log, rows, lease, answer, lambda opened: None, lambda: None)


async def test_a_log_that_grew_is_to_be_read_again(valkey_url: str):
    async with redis.asyncio.Redis.from_url(valkey_url) as store:
        writer, log = Writer(store), Log(store)
        await writer.open()
        await writer.say("seen")
        answer, opening = taken_over(writer, log)
        await writer.say(" by readers")
        assert not await opening.begin_where_read()
        assert not answer.opened
        assert not answer.may_save  # as a checkpoint it would hide what the log has more
        again, reopening = taken_over(writer, log)
        assert await reopening.begin_where_read()
        assert again.opened
        assert again.may_save
