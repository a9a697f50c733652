"""What can go wrong between us and an engine; no HTTP forms and no text of a prompt in here.

InferenceError
  Unavailable        no engine took the request: refused connection, DNS, loading, busy. Try again
  Refused            the engine won't take this request. Final
    ContextTooLong   more tokens than the model's context holds
  StreamCut          the answer broke off, or broke before it began. Another attempt may go on
    Stalled          nothing came for too long

CatalogueError       the file of models and replicas breaks a rule
"""


class InferenceError(Exception):
    """An engine call that did not end as it should."""


class Unavailable(InferenceError):
    """No byte of an answer came, and not for the request; `retry_after_s` if the engine named a time."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"the engine is not available: {reason}")
        self.reason = reason
        self.retry_after_s = retry_after_s


class Refused(InferenceError):
    """The engine refused the request itself: never retry. `code` is a short word, safe to log."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__(f"the engine refused the request: {code}")
        self.code = code
        self.status = status


class ContextTooLong(Refused):
    """Prompt and answer do not fit the context; the numbers are there where the engine told them."""

    def __init__(self, n_prompt: int | None = None, n_ctx: int | None = None) -> None:
        super().__init__("context_too_long")
        self.n_prompt = n_prompt
        self.n_ctx = n_ctx


class StreamCut(InferenceError):
    """The answer broke off; `reason` is a short word (eof, connection, abort, error, status_500, garbage)."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the answer broke off: {reason}")
        self.reason = reason


class Stalled(StreamCut):
    """Nothing came for too long; `reason` is first_token, token_gap or count."""


class CatalogueError(Exception):
    """Names the file, the model and the field, and says what the rule is."""

    def __init__(self, path: str, problem: str, *, model: str = "", field: str = "") -> None:
        where = "".join((f", model {model}" if model else "", f", {field}" if field else ""))
        super().__init__(f"{path}{where}: {problem}")
        self.path, self.model, self.field, self.problem = path, model, field, problem
