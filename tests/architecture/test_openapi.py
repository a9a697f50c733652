"""The OpenAPI document: whole, valid, and made without a warning."""

from pathlib import Path

from django.core.management import call_command


def test_the_document_is_made_without_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "schema.yaml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(file))
    assert "/api/v1/turns" in file.read_text()
