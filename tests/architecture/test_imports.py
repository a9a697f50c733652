"""The contracts of pyproject.toml about who may import whom."""

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def test_imports_keep_the_contracts() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
