"""No table points up or sideways: import-linter does not see a foreign key that is given as text."""

import pytest
from django.apps import apps
from django.conf import settings
from django.db.models import Field, Model

# What each app's tables may point at, besides their own and the user.
BELOW = {
    "chat": {"memory", "accounts", "moderation", "inference"},
    "memory": {"inference"},
    "accounts": set(),
    "moderation": set(),
    "inference": set(),
    "config": {"chat", "memory", "accounts", "moderation", "inference"},
}


def wrong(model: type[Model]) -> list[str]:
    """The relations of this model that point where they must not."""
    found = []
    for field in model._meta.get_fields():
        target = field.related_model
        if not isinstance(field, Field) or not isinstance(target, type) or target._meta.label == USER:
            continue
        above = target._meta.app_label
        if above in BELOW and above != model._meta.app_label and above not in BELOW[model._meta.app_label]:
            found.append(f"{model._meta.label}.{field.name} -> {target._meta.label}")
    return found


USER = settings.AUTH_USER_MODEL
OURS = [model for model in apps.get_models() if model._meta.app_label in BELOW]


@pytest.mark.parametrize("model", OURS, ids=lambda model: model._meta.label)
def test_relations_point_down(model: type[Model]) -> None:
    assert wrong(model) == []


def test_the_check_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    membership = apps.get_model("accounts.Membership")
    assert wrong(membership) == []
    monkeypatch.setattr(membership._meta, "app_label", "memory")
    assert wrong(membership) == ["memory.Membership.organisation -> accounts.Organisation"]
