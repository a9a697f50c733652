"""What only this installation knows: made once, kept in `.data/secrets.json`, readable by its owner alone."""

import hashlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from config.embedded.processes import StartFailed


@dataclass(frozen=True, slots=True)
class Credentials:
    """All of them; each is random and fit for a URL."""

    secret_key: str
    database_password: str
    valkey_password: str
    admin_password: str

    @property
    def engine_key(self) -> str:
        """What the embedded engine asks for."""
        return hashlib.sha256(f"engine {self.secret_key}".encode()).hexdigest()


def load(path: Path) -> Credentials:
    """The credentials of this installation, made at the first call. Raises StartFailed if they can't be read."""
    if path.exists():
        return _read(path)
    lengths = {"secret_key": 48, "admin_password": 12}
    made = Credentials(
        **{each.name: secrets.token_urlsafe(lengths.get(each.name, 24)) for each in fields(Credentials)}
    )
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(made), file, indent=1)
    fresh.replace(path)
    return made


def _read(path: Path) -> Credentials:
    try:
        return Credentials(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise StartFailed(
            f"{path} is not what was written there: {error}. Put it back, for the database opens with it alone; "
            "`make clean` begins anew, without the conversations."
        ) from error
