"""Every code that a refusal can have is in docs/errors.md, with its status, and nothing else is."""

import re
from collections.abc import Iterator

from chat import errors
from chat.errors import ChatError
from tests.architecture.source import ROOT

ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \|", re.MULTILINE)
# Foreign ones that are not in the table by status.
OTHERS = {("bad_request", 400)}


def kinds(of: type[ChatError]) -> Iterator[type[ChatError]]:
    """All refusals of ours, down the tree."""
    for kind in of.__subclasses__():
        if not kind.__name__.startswith("_"):
            yield kind
        yield from kinds(kind)


def test_every_code_is_documented_with_its_status() -> None:
    documented = {(code, int(status)) for code, status in ROW.findall((ROOT / "docs/errors.md").read_text())}
    ours = {(kind.code, kind.status) for kind in kinds(ChatError)}
    foreign = {(code, status) for status, code in errors.FOREIGN_CODES.items()}
    assert documented == ours | foreign | OTHERS


def test_no_two_refusals_share_a_code() -> None:
    codes = [kind.code for kind in kinds(ChatError)]
    assert len(codes) == len(set(codes))
