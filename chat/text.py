"""What people and engines write, made storable: the one place that decides which characters stay.

Pure: no settings, no rows. Length and emptiness are judged by whoever asks, after cleaning.
"""


def clean(text: str) -> str:
    """The text without NUL, surrogate halves joined or replaced by U+FFFD: always valid UTF-8. Idempotent."""
    text = text.replace("\0", "")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
