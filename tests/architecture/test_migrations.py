"""Every migration of ours goes back and forth on a database with rows, and leaves the same schema."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from accounts.models import Membership, Organisation, UsageEntry
from chat.models import Dispatcher, Generation, GenerationChunk
from tests.architecture.source import APPS
from tests.factories.chat import make_branch, make_conversation, make_generation

NAME = "parley_migrations"
# Tables, columns and constraints as Postgres has them.
SCHEMA = """
SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = 'public'
UNION ALL
SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '' FROM pg_constraint
WHERE connamespace = 'public'::regnamespace
ORDER BY 1, 2, 3
"""


@pytest.fixture
def own_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The default connection, for this test, on an empty database of its own."""
    with django_db_blocker.unblock():
        shared = connection.settings_dict["NAME"]
        _run_beside("DROP DATABASE IF EXISTS {} WITH (FORCE)", "CREATE DATABASE {}")
        _switch(NAME)
        yield
        _switch(shared)
        _run_beside("DROP DATABASE {} WITH (FORCE)")


def _switch(name: str) -> None:
    connection.close()
    connection.close_pool()
    connection.settings_dict["NAME"] = name


def _run_beside(*statements: str) -> None:
    parameters = connection.get_connection_params()
    wanted = {key: parameters[key] for key in ("host", "port", "user", "password")}
    with psycopg.connect(**wanted, dbname="postgres", autocommit=True) as beside:
        for statement in statements:
            beside.execute(sql.SQL(statement).format(sql.Identifier(NAME)))


def _schema() -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA)
        return list(cursor.fetchall())


def _make_rows() -> None:
    _, answer = make_branch(make_conversation(), 2)
    generation = make_generation(answer, Generation.State.RUNNING)
    GenerationChunk.objects.create(generation=generation, attempt=1, n_from=0, n_to=1, body={"text": "a"})
    Dispatcher.objects.create()
    organisation = Organisation.objects.create(name="Bees")
    Membership.objects.create(organisation=organisation, user=generation.user)
    UsageEntry.objects.create(generation_id=generation.pk, user=generation.user, model="smollm2")


def _ours_newest_first() -> list[tuple[str, str]]:
    """Our migrations in an order in which they can be taken back."""
    loader = MigrationLoader(connection)
    plan: list[tuple[str, str]] = []
    for leaf in loader.graph.leaf_nodes():
        plan += [key for key in loader.graph.forwards_plan(leaf) if key not in plan]
    return [key for key in reversed(plan) if key[0] in APPS]


def _migrate(*where: str) -> None:
    call_command("migrate", *where, verbosity=0, interactive=False)


def test_every_migration_goes_back_and_forth(own_database: None) -> None:
    _migrate()
    schema = _schema()
    _make_rows()
    loader = MigrationLoader(connection)
    for app, name in _ours_newest_first():
        before = [key for key in loader.graph.forwards_plan((app, name)) if key[0] == app][:-1]
        _migrate(app, before[-1][1] if before else "zero")
        assert (app, name) not in MigrationLoader(connection).applied_migrations
    _migrate()
    assert _schema() == schema


def test_migrations_have_names_that_say_what_they_do() -> None:
    names = [name for app, name in MigrationLoader(None).disk_migrations if app in APPS]
    assert names
    assert not [name for name in names if "_auto_" in name]
