"""The first administrator: a way into a fresh installation, never a way back into an old one."""

from allauth.account.models import EmailAddress
from django.db import transaction

from accounts.models import User


@transaction.atomic
def ensure(email: str, password: str) -> bool:
    """Makes the administrator with a confirmed address; touches nothing and says False if the user exists."""
    if User.objects.filter(email__iexact=email).exists():
        return False
    user = User.objects.create_superuser(email, password)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return True
