"""People, organisations and usage in the admin: who may see and change what. No other rule."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts import sessions
from accounts.admin_lists import LongList, ReadOnlyList
from accounts.models import Membership, Organisation, UsageEntry, User

RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


class LowerEmail(forms.EmailField):
    """Emails are stored in lower case."""

    def clean(self, value: Any) -> Any:
        """The address in lower case. Raises ValidationError."""
        return super().clean(value).lower()


class PersonCreationForm(UserCreationForm):  # type: ignore[misc]  # unfold has no types
    """A new person by email."""

    class Meta:
        model = User
        fields = ("email",)
        field_classes = {"email": LowerEmail}  # noqa: RUF012 Django's own form


class PersonChangeForm(UserChangeForm):  # type: ignore[misc]
    """A person, by email."""

    class Meta:
        model = User
        fields = "__all__"
        field_classes = {"email": LowerEmail}  # noqa: RUF012


class PersonPasswordForm(AdminPasswordChangeForm):  # type: ignore[misc]
    """A new password, which ends the sessions of the old one."""

    def save(self, commit: bool = True) -> User:
        """The person, changed."""
        user: User = super().save(commit)
        sessions.tell_ended(user.pk)
        return user


@admin.register(User)
class PersonAdmin(UserAdmin, LongList):  # type: ignore[type-arg]
    """People: create, change, deactivate. Not deleted here, with all they wrote, by one click."""

    form, add_form, change_password_form = PersonChangeForm, PersonCreationForm, PersonPasswordForm
    list_display = ("email", "name", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name")
    ordering = ("-pk",)  # type: ignore[misc]  # UserAdmin has its own, by user name
    actions = ("deactivate", "activate")
    readonly_fields = ("date_joined", "last_login")
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("State", {"fields": ("is_active", "date_joined", "last_login")}),
        ("Rights", {"fields": RIGHTS}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)

    @admin.action(description="Deactivate: signed out everywhere", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """No session of theirs is taken any more."""
        allowed = self._allowed(request, queryset)
        allowed.update(is_active=False)
        for pk in allowed.values_list("pk", flat=True):
            sessions.tell_ended(pk)

    @admin.action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """They may sign in again."""
        self._allowed(request, queryset).update(is_active=True)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Deactivated here, signed out everywhere."""
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data:
            sessions.tell_ended(obj.pk)

    def _allowed(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        return queryset if request.user.is_superuser else queryset.filter(is_superuser=False)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Rights are given by superusers only, or staff could make themselves one."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else (*fields, *RIGHTS)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """A superuser's account, with its password, is changed by superusers only."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Never."""
        return False


class MembershipInline(TabularInline):  # type: ignore[misc]
    """Who belongs to an organisation."""

    model = Membership
    fields = ("user", "role", "created_at")
    readonly_fields = ("created_at",)
    autocomplete_fields = ("user",)
    extra = 0
    ordering = ("pk",)
    per_page = 20


@admin.register(Organisation)
class OrganisationAdmin(LongList):
    """Organisations and who belongs to them."""

    list_display = ("name", "weight", "created_at")
    search_fields = ("name",)
    readonly_fields = ("created_at",)
    inlines = (MembershipInline,)


@admin.register(UsageEntry)
class UsageEntryAdmin(ReadOnlyList):
    """What was used; the ledger is append only."""

    list_display = ("created_at", "user", "organisation", "model", "prompt_tokens", "completion_tokens")
    list_select_related = ("user", "organisation")


admin.site.unregister(Group)


@admin.register(Group)
class RoleAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]
    """Django's groups in the admin's look."""
