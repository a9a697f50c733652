"""What people and engines write, made storable: the one place that decides which characters stay.

Pure: no settings, no rows. Length and emptiness are judged by whoever asks, after cleaning.
"""

# A client's own key for a turn, the same on every surface.
CLIENT_ID = r"[A-Za-z0-9._:-]{8,64}"


def clean(text: str) -> str:
    """The text without NUL, surrogate halves joined or replaced by U+FFFD: always valid UTF-8. Idempotent."""
    text = text.replace("\0", "")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def title(text: str, chars: int) -> str:
    """The beginning of the text on one line, at most so many characters: cut between words, and shown to be cut."""
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    whole = line[:chars].rpartition(" ")[0]
    return f"{whole if len(whole) >= chars // 2 else line[: chars - 1]}…"
