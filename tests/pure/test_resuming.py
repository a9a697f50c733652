"""How an answer that was cut goes on: the first way that fits, and none where none is right."""

from typing import Any

import pytest

from inference.core.resuming import How, choose
from inference.core.values import ChatMessage, Progress, Request, Way

BOTH: tuple[Way, ...] = ("ids", "text")
JSON = {"type": "json_object"}


def how(
    progress: Progress,
    continues: tuple[Way, ...] = BOTH,
    same_version: bool = True,
    form: dict[str, Any] | None = None,
) -> How:
    request = Request("m", [ChatMessage("user", "hello")], 10, response_format=form)
    return choose(continues, request, progress, same_version=same_version)


@pytest.mark.parametrize(
    ("progress", "options", "expected"),
    [
        (Progress("ab", [1, 2], 2), {}, How.IDS),
        (Progress("ab ", [1, 2], 2), {}, How.IDS),
        (Progress("ab", [1, 2], 2), {"same_version": False}, How.TEXT),
        (Progress("ab", [1, 2], 3), {}, How.TEXT),
        (Progress("ab", None, 2), {}, How.TEXT),
        (Progress("ab", [1, 2], 2), {"continues": ("text",)}, How.TEXT),
        (Progress("ab", None, 2), {"continues": ("ids",)}, How.NEVER),
        (Progress("ab\n", None, 2), {}, How.NEVER),
        (Progress("ab\u00a0", None, 2), {}, How.NEVER),
        (Progress("ab", [1, 2], 2), {"continues": ()}, How.NEVER),
        (Progress("{", [1], 1), {"form": JSON}, How.NEVER),
        (Progress(), {"form": JSON}, How.FRESH),
        (Progress(), {"continues": ()}, How.FRESH),
        (Progress("", [], 0), {"same_version": False}, How.FRESH),
    ],
)
def test_the_first_way_that_fits(progress: Progress, options: dict[str, Any], expected: How) -> None:
    assert how(progress, **options) is expected
