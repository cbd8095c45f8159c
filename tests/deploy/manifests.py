"""Reads what lies under deploy/, for tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

__all__ = ["DEPLOY", "ROOT", "SCHEMAS", "environment", "faults", "read", "unit"]

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SCHEMAS = Path(__file__).parent / "schemas"


def read(path: str) -> Any:
    """A manifest, by its path under deploy/. YAML 1.1, as those who use them read."""
    file = DEPLOY / path
    if file.suffix == ".toml":
        return tomllib.loads(file.read_text())
    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)
    return yaml.load(file.read_text())


def faults(schema: Sequence[str], *files: Path) -> str:
    """What a schema finds wrong with files; nothing: ""."""
    program = (sys.executable, "-m", "check_jsonschema")
    checked = subprocess.run(
        [*program, *schema, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a pod's container; those that come from elsewhere are ""."""
    return {one["name"]: one.get("value", "") for one in container["env"]}


def unit(name: str) -> dict[str, list[str]]:
    """A unit's settings, by name, of all its sections."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / name).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found
