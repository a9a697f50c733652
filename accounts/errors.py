"""What accounts refuses.

AccountError
  NotAuthenticated     the session or token is missing, ended or unknown
"""


class AccountError(Exception):
    """A refusal of accounts; no HTTP in here."""


class NotAuthenticated(AccountError):
    """The session or token is missing, ended or unknown."""
