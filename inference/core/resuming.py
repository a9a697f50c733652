"""How an answer that was cut goes on in another attempt (protocol 4.5). Pure."""

from enum import StrEnum

from inference.core.values import Progress, Request, Way


class How(StrEnum):
    """The ways to go on, best first."""

    IDS = "ids"
    TEXT = "text"
    FRESH = "fresh"
    NEVER = "never"


def choose(continues: tuple[Way, ...], request: Request, progress: Progress, *, same_version: bool) -> How:
    """By ids where every id is known, else by text, else from the start if nothing was shown, else not at all.

    Structured output can't be continued: the engine's grammar would start again in the middle.
    """
    if not progress.text:
        return How.FRESH
    if request.response_format is not None:
        return How.NEVER
    ids_known = progress.ids is not None and len(progress.ids) == progress.tokens
    if "ids" in continues and ids_known and same_version:
        return How.IDS
    if "text" in continues and not progress.text[-1].isspace():
        return How.TEXT
    return How.NEVER
