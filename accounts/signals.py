"""Notices upward, sent on commit: those who keep sockets open listen, and accounts need not know them."""

from django.dispatch import Signal

# With `user_pk`: sessions of this person may have ended. Ask authentication.session_alive about each.
sessions_ended = Signal()
