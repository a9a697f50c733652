"""People for tests."""

from itertools import count

from accounts.models import User

PASSWORD = "correct horse battery staple"
_number = count(1)


def make_user(email: str = "", *, password: str | None = PASSWORD, **fields: object) -> User:
    """A saved person; their password is PASSWORD."""
    return User.objects.create_user(email or f"person{next(_number)}@example.org", password, **fields)


def make_staff(email: str = "") -> User:
    """A person with every right in the admin."""
    return make_user(email, is_staff=True, is_superuser=True)
