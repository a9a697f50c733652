"""What memory refuses while it builds a prompt.

ContextError
  MessageTooLong       the newest message does not fit, whatever else is left out
  NothingToAnswer      the history has no user message at its end
"""


class ContextError(Exception):
    """No prompt can be made of this history; final, so never worth a retry."""


class MessageTooLong(ContextError):
    """The newest message has `tokens`, and at most `limit_tokens` would fit."""

    def __init__(self, limit_tokens: int, tokens: int) -> None:
        super().__init__(f"the message has {tokens} tokens, the limit is {limit_tokens}")
        self.limit_tokens = limit_tokens
        self.tokens = tokens


class NothingToAnswer(ContextError):
    """The history does not end in a message of the user."""

    def __init__(self) -> None:
        super().__init__("the history does not end in a user message")
