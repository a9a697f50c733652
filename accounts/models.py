"""Who may ask: people, their organisations, and what they used.

Rows and constraints only; rules live in the modules named after the nouns.
"""

import uuid

import uuid_utils
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

EMAIL_MAX_CHARS = 254


def new_pk() -> uuid.UUID:
    """A UUIDv7: ordered by time, so that indexes stay compact."""
    return uuid.UUID(int=uuid_utils.uuid7().int)


def is_hashable(password: str) -> bool:
    """Whether this text is one: half a surrogate pair can be sent, but not hashed."""
    try:
        password.encode()
    except UnicodeEncodeError:
        return False
    return True


class UserManager(BaseUserManager["User"]):
    """Makes users by email; there are no user names."""

    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        """A saved user; without a password, one who can only sign in by other means."""
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        """A user with every right in the admin."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Log-in is by email in any case."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person who chats, signs in by email."""

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    email = models.EmailField(max_length=EMAIL_MAX_CHARS, unique=True)
    name = models.CharField(max_length=150, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        constraints = (models.UniqueConstraint(Lower("email"), name="user_email_unique"),)

    def __str__(self) -> str:
        return self.email

    def check_password(self, raw_password: str | None) -> bool:
        """Whether this is their password; what can't be hashed is nobody's."""
        return is_hashable(raw_password or "") and super().check_password(raw_password)


class Organisation(models.Model):
    """People who share limits and policies."""

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    name = models.CharField(max_length=150)
    # Its share of a busy model beside the others'; people without an organisation have a weight of 1 each.
    weight = models.PositiveSmallIntegerField(
        default=1, db_default=1, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(weight__gte=1), name="organisation_weighs"),)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """That a person belongs to an organisation, and as what."""

    class Role(models.TextChoices):
        OWNER = "owner"
        ADMIN = "admin"
        MEMBER = "member"
        BILLING = "billing"

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["organisation", "user"], name="membership_once"),)

    def __str__(self) -> str:
        return f"{self.user} in {self.organisation} as {self.role}"


class UsageEntry(models.Model):
    """What one answer used; append only, one row a generation, so settling twice changes nothing."""

    id = models.UUIDField(primary_key=True, default=new_pk, editable=False)
    generation_id = models.UUIDField(unique=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="usage")
    organisation = models.ForeignKey(Organisation, models.SET_NULL, null=True, related_name="usage")
    model = models.CharField(max_length=100)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=models.functions.Now())

    class Meta:
        indexes = (models.Index(fields=["user", "created_at"], name="usage_by_user"),)

    def __str__(self) -> str:
        return f"{self.prompt_tokens}+{self.completion_tokens} tokens of {self.model}"
