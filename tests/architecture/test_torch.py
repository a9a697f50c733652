"""Torch is in the encoder process and nowhere else: no module of the project imports it by being imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "transformers", "sentence_transformers", "numpy", "sklearn"}
IMPORT_ALL = """
import importlib, json, pkgutil, sys
import django
django.setup()
packages = ["accounts", "chat", "config", "inference", "memory", "moderation"]
names = [m.name for p in packages for m in pkgutil.walk_packages([p], p + ".") if ".migrations" not in m.name]
for name in names:
    importlib.import_module(name)
print(json.dumps([names, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_importing_everything_imports_no_torch() -> None:
    stores = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "VALKEY_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=ROOT,
        env={
            **os.environ,
            **stores,
            "PARLEY_ENV": "development",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    imported, loaded = json.loads(done.stdout)
    assert {"inference.encoder.minilm", "memory.embeddings", "chat.management.commands.run_encoder"} <= set(
        imported
    )
    assert HEAVY & set(loaded) == set()
