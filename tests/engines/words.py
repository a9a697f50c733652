"""The fake engine's language: numbered words, and a reversible tokenizer that every fake engine shares.

` w12` is one token; all other text is three bytes a token, so a character may take two. No state: ids made by
one process mean the same in another.
"""

import re
import zlib
from collections.abc import Iterator

SYSTEM, USER, ASSISTANT, END = 1, 2, 3, 4
ROLES = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT}
_WORD = re.compile(r"( (?:[0-9a-f]{4}\.)?w(?:0|[1-9]\d{0,5})(?!\d))")
_PARTS = re.compile(r" (?:([0-9a-f]{4})\.)?w(\d+)")
_FIRST_WORD, _WORDS, _FIRST_BYTES = 1_000, 1_000_000, 1 << 40
CRAB = " 🦀"


def seed_of(user: str) -> str:
    """Four hex digits that tell the answers to two messages apart."""
    return f"{zlib.crc32(user.encode('utf-8', 'replace')) & 0xFFFF:04x}"


def units(tokens: int, seed: str = "", crab_every: int = 0) -> Iterator[str]:
    """The whole answer, piece by piece: numbered words, an astral character after each `crab_every`."""
    prefix = f" {seed}.w" if seed else " w"
    for n in range(tokens):
        yield f"{prefix}{n}"
        if crab_every and n % crab_every == crab_every - 1:
            yield CRAB


def scripted(text: str) -> list[str]:
    """A given text in pieces: a word and what stands between it and the next."""
    return re.findall(r"\S+\s*|\s+", text)


def answer(tokens: int, seed: str = "", crab_every: int = 0) -> str:
    """What the fake engine says, for tests to compare with."""
    return "".join(units(tokens, seed, crab_every))


def said(user: str, tokens: int) -> str:
    """What a `seeded` engine answers to this message."""
    return answer(tokens, seed_of(user))


def encode(text: str) -> list[int]:
    """Token ids of a bare text."""
    ids: list[int] = []
    for n, part in enumerate(_WORD.split(text)):
        ids += [_word_id(part)] if n % 2 else _byte_ids(part.encode("utf-8", "replace"))
    return ids


def decode(ids: list[int]) -> str:
    """The text again; roles and ends are silent, half a character is a replacement character."""
    return b"".join(map(_bytes_of, ids)).decode("utf-8", "replace")


def chat_ids(messages: list[dict[str, str]], *, generation: bool, open_end: bool) -> list[int]:
    """The prompt that the template makes; `open_end` leaves the last message to be gone on with."""
    ids: list[int] = []
    for message in messages:
        ids += [ROLES[message["role"]], *encode(message["content"]), END]
    if open_end:
        return ids[:-1]
    return [*ids, ASSISTANT] if generation else ids


def read_prompt(ids: list[int]) -> tuple[str, list[int]]:
    """The last user message of a templated prompt, and the ids of the answer begun after it."""
    if USER not in ids or ASSISTANT not in ids:
        return decode(ids), []
    user = len(ids) - 1 - ids[::-1].index(USER)
    begun = len(ids) - 1 - ids[::-1].index(ASSISTANT)
    end = ids.index(END, user)
    return decode(ids[user + 1 : end]), ids[begun + 1 :]


def _word_id(word: str) -> int:
    found = _PARTS.fullmatch(word)
    assert found is not None
    seed = int(found[1], 16) + 1 if found[1] else 0
    return _FIRST_WORD + seed * _WORDS + int(found[2])


def _byte_ids(raw: bytes) -> list[int]:
    groups = (raw[at : at + 3] for at in range(0, len(raw), 3))
    return [_FIRST_BYTES + (len(group) << 24) + int.from_bytes(group) for group in groups]


def _bytes_of(token: int) -> bytes:
    if token >= _FIRST_BYTES:
        size, value = divmod(token - _FIRST_BYTES, 1 << 24)
        return value.to_bytes(size)
    if token < _FIRST_WORD:
        return b""
    seed, n = divmod(token - _FIRST_WORD, _WORDS)
    return f" {seed - 1:04x}.w{n}".encode() if seed else f" w{n}".encode()
