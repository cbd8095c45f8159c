"""Makes `kubernetes-VERSION.json` of what the package kubernetes-validate has.

The kinds that our manifests use, and the closure of what they refer to. Run it by hand
when another version of Kubernetes or another kind is wanted.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

KINDS = {
    "NetworkPolicy": "networkpolicy-networking-v1",
    "PodDisruptionBudget": "poddisruptionbudget-policy-v1",
    "Service": "service-v1",
    "StatefulSet": "statefulset-apps-v1",
}
"""By kind: the name of its schema's file."""

START, LOCAL = "/api/_definitions.json#/$defs/", "#/$defs/"


def make(version: str) -> dict[str, Any]:
    """One schema for a manifest of any of the kinds."""
    found = importlib.util.find_spec("kubernetes_validate")
    assert found is not None, "pip install kubernetes-validate"
    assert found.origin is not None
    folder = Path(found.origin).parent / "kubernetes-json-schema"
    folder /= f"v{version}.0-local-strict"
    all_of_it = json.loads((folder / "_definitions.json").read_text())["$defs"]
    kinds = {
        kind: _bare(json.loads((folder / f"{file}.json").read_text()))
        for kind, file in KINDS.items()
    }
    used: dict[str, Any] = {}
    waiting = [name for schema in kinds.values() for name in _named(schema)]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = _bare(all_of_it[name])
            waiting += _named(used[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {"kind": {"enum": sorted(kinds)}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}}, "then": _local(schema)}
            for kind, schema in kinds.items()
        ],
        "$defs": {name: _local(used[name]) for name in sorted(used)},
    }


def _bare(schema: Any) -> Any:
    """Without what is only meant for readers, or for Kubernetes itself."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    told = {"description", "$schema", "$id"}
    return {
        name: {key: _bare(part) for key, part in value.items()}
        if name == "properties"
        else _bare(value)
        for name, value in schema.items()
        if name not in told and not name.startswith("x-kubernetes")
    }


def _named(schema: Any) -> list[str]:
    """The definitions that a schema refers to."""
    if isinstance(schema, list):
        return [name for part in schema for name in _named(part)]
    if not isinstance(schema, dict):
        return []
    here = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    names = [ref.removeprefix(START).removeprefix(LOCAL) for ref in here]
    return names + [name for part in schema.values() for name in _named(part)]


def _local(schema: Any) -> Any:
    """The same, referring to definitions of its own file."""
    text = json.dumps(schema)
    return json.loads(text.replace(START, LOCAL))


if __name__ == "__main__":
    place = Path(__file__).parent / f"kubernetes-{sys.argv[1]}.json"
    place.write_text(json.dumps(make(sys.argv[1]), separators=(",", ":")) + "\n")
