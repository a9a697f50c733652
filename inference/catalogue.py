"""Which models there are, what each can do and where its replicas run: one TOML file, read strictly.

No network and no state of replicas in here; a broken file never replaces one that was good.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
import structlog
from django.conf import settings

from inference.core.values import Patience, ReplicaView, Way
from inference.errors import CatalogueError

logger = structlog.get_logger(__name__)

_NAMED = re.compile(r"field `(\w+)`")
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Count = Annotated[int, msgspec.Meta(ge=1)]
_Seconds = Annotated[float, msgspec.Meta(gt=0)]

QUEUE_LIMIT = 1000


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How this model is sampled where the request does not say."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 1.0
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0


class ReplicaEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A replica as the file writes it."""

    id: _Name
    url: str
    max_running: _Count
    keeps_connections: bool = True
    api_key_env: str | None = None


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model as the file writes it; `max_tokens` limits one answer."""

    id: _Name
    name: _Name
    version: _Name
    context_length: _Count
    max_tokens: _Count
    aliases: tuple[_Name, ...] = ()
    default: bool = False
    continues: tuple[Way, ...] = ()
    system_prompt: str | None = None
    sampling: Sampling = Sampling()
    first_token_timeout_s: _Seconds = Patience().first_token_s
    token_gap_timeout_s: _Seconds = Patience().token_gap_s
    queue_limit: _Count = QUEUE_LIMIT
    replicas: tuple[ReplicaEntry, ...] = ()


class Model(msgspec.Struct, frozen=True):
    """A model as the rest of inference knows it."""

    id: str
    name: str
    version: str
    context_length: int
    max_tokens: int
    aliases: tuple[str, ...]
    default: bool
    continues: tuple[Way, ...]
    system_prompt: str | None
    sampling: Sampling
    patience: Patience
    queue_limit: int
    replicas: tuple[ReplicaView, ...]


class Catalogue(msgspec.Struct, frozen=True):
    """All models, in the file's order; exactly one is the default."""

    models: tuple[Model, ...]

    @property
    def default(self) -> Model:
        """The model for whoever names none."""
        return next(model for model in self.models if model.default)

    @property
    def replicas(self) -> tuple[ReplicaView, ...]:
        """Every replica of every model."""
        return tuple(replica for model in self.models for replica in model.replicas)

    def find(self, name: str) -> Model | None:
        """The model with this id or alias."""
        return next((model for model in self.models if name == model.id or name in model.aliases), None)


_kept: tuple[str, int, Catalogue] | None = None


def current() -> Catalogue:
    """The catalogue of `settings.CATALOGUE`, read again when the file changes.

    Raises CatalogueError only if no good one was read before: a file broken in mid-edit changes nothing.
    """
    global _kept
    path = str(settings.CATALOGUE)
    changed = _changed(path)
    if _kept is not None and _kept[:2] == (path, changed):
        return _kept[2]
    try:
        fresh = load(path)
    except CatalogueError as error:
        if _kept is None or _kept[0] != path:
            raise
        logger.error("catalogue_not_read", problem=str(error))
        fresh = _kept[2]
    _kept = (path, changed, fresh)
    return fresh


def patience(model: str) -> Patience:
    """How long this model's engines may be silent."""
    found = current().find(model)
    return Patience() if found is None else found.patience


def queue_limit(model: str) -> int:
    """How many answers of this model may wait before new ones are refused."""
    found = current().find(model)
    return QUEUE_LIMIT if found is None else found.queue_limit


def load(path: str | Path) -> Catalogue:
    """The catalogue in this file; raises CatalogueError naming file, model and field."""
    path = str(path)
    entries = [_entry(path, n, raw) for n, raw in enumerate(_raw_models(path), 1)]
    _check_names(path, entries)
    _check_default(path, entries)
    _check_replicas(path, entries)
    return Catalogue(tuple(_model(path, entry, alone=len(entries) == 1) for entry in entries))


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _raw_models(path: str) -> list[dict[str, Any]]:
    try:
        raw = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CatalogueError(path, f"can't be read: {error}") from None
    if unknown := sorted(raw.keys() - {"models"}):
        raise CatalogueError(path, "is not known here; the file holds [[models]] only", field=unknown[0])
    models = raw.get("models")
    if not isinstance(models, list) or not models or not all(isinstance(model, dict) for model in models):
        raise CatalogueError(path, "at least one [[models]] is needed", field="models")
    return models


def _entry(path: str, n: int, raw: dict[str, Any]) -> ModelEntry:
    try:
        return msgspec.convert(raw, ModelEntry)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        named = _NAMED.search(
            problem
        )  # an unknown or missing field is named in the words, its table in `where`
        field = ".".join(filter(None, (where.strip(".`"), named[1] if named else "")))
        raise CatalogueError(path, problem, model=str(raw.get("id") or f"#{n}"), field=field) from None


def _check_names(path: str, entries: list[ModelEntry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.max_tokens >= entry.context_length:
            raise CatalogueError(path, "must be below context_length", model=entry.id, field="max_tokens")
        if len(set(entry.continues)) != len(entry.continues):
            raise CatalogueError(path, "names a way twice", model=entry.id, field="continues")
        for field, name in (("id", entry.id), *(("aliases", alias) for alias in entry.aliases)):
            if name in seen:
                raise CatalogueError(path, f"{name!r} is taken", model=entry.id, field=field)
            seen.add(name)


def _check_default(path: str, entries: list[ModelEntry]) -> None:
    defaults = [entry for entry in entries if entry.default]
    if len(defaults) > 1:
        raise CatalogueError(path, "a second default", model=defaults[1].id, field="default")
    if not defaults and len(entries) > 1:
        raise CatalogueError(path, "one of the models must be the default", field="default")


def _check_replicas(path: str, entries: list[ModelEntry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if not entry.replicas:
            raise CatalogueError(path, "at least one is needed", model=entry.id, field="replicas")
        for replica in entry.replicas:
            for field, value in (("id", replica.id), ("url", replica.url.rstrip("/"))):
                if value in seen:
                    raise CatalogueError(
                        path, f"{value!r} is taken", model=entry.id, field=f"replicas.{field}"
                    )
                seen.add(value)


def _model(path: str, entry: ModelEntry, *, alone: bool) -> Model:
    return Model(
        id=entry.id,
        name=entry.name,
        version=entry.version,
        context_length=entry.context_length,
        max_tokens=entry.max_tokens,
        aliases=entry.aliases,
        default=entry.default or alone,
        continues=entry.continues,
        system_prompt=entry.system_prompt,
        sampling=entry.sampling,
        patience=Patience(entry.first_token_timeout_s, entry.token_gap_timeout_s),
        queue_limit=entry.queue_limit,
        replicas=tuple(_replica(path, entry, replica) for replica in entry.replicas),
    )


def _replica(path: str, entry: ModelEntry, replica: ReplicaEntry) -> ReplicaView:
    return ReplicaView(
        pk=replica.id,
        url=_url(path, entry, replica.url),
        model=entry.id,
        max_running=replica.max_running,
        version=entry.version,
        continues=entry.continues,
        keeps_connections=replica.keeps_connections,
        api_key=_api_key(path, entry, replica.api_key_env),
    )


def _url(path: str, entry: ModelEntry, url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or parts.username or parts.path.rstrip("/").endswith("/v1"):
        raise CatalogueError(
            path,
            "should be http(s)://host:port, without /v1, query or password",
            model=entry.id,
            field="replicas.url",
        )
    return url.rstrip("/")


def _api_key(path: str, entry: ModelEntry, variable: str | None) -> str:
    if variable is None:
        return ""
    if not os.environ.get(variable):
        raise CatalogueError(
            path, f"{variable} is not set in the environment", model=entry.id, field="replicas.api_key_env"
        )
    return os.environ[variable]
