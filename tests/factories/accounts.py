"""People for tests."""

from importlib import import_module
from itertools import count

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from accounts.models import Membership, Organisation, User

PASSWORD = "correct horse battery staple"
_number = count(1)


def make_user(email: str = "", *, password: str | None = PASSWORD, **fields: object) -> User:
    """A saved person; their password is PASSWORD."""
    return User.objects.create_user(email or f"person{next(_number)}@example.org", password, **fields)


def make_staff(email: str = "") -> User:
    """A person with every right in the admin."""
    return make_user(email, is_staff=True, is_superuser=True)


def make_organisation(*members: User, **fields: object) -> Organisation:
    """An organisation of these people."""
    made = Organisation.objects.create(name=f"Organisation {next(_number)}", **fields)
    for member in members:
        Membership.objects.create(organisation=made, user=member)
    return made


def session_token(user: User) -> str:
    """A token that signs this person in, as allauth hands one to an app."""
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)
