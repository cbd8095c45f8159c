"""What a page does that was told by patches."""

from __future__ import annotations

from typing import Any

from hotseat.engine.frozen import freeze, thaw
from hotseat.engine.operator.json_patch import apply_patch

__all__ = ["made_whole"]


def made_whole(said: dict[str, Any], holds: Any) -> tuple[dict[str, Any], Any]:
    """A `batch_patched` as the `batch_applied` that it stands for, and the snapshot
    that the page holds after it; `holds` is the one before."""
    assert said["type"] == "batch_patched"
    steps = []
    for step in said["steps"]:
        holds = _after(holds, step["patch"])
        rest = {name: part for name, part in step.items() if name != "patch"}
        steps.append({**rest, "snapshot": holds})
    holds = _after(holds, said.get("patch", []))
    rest = {name: part for name, part in said.items() if name != "patch"}
    whole = {**rest, "type": "batch_applied", "steps": steps, "snapshot": holds}
    return whole, holds


def _after(value: Any, patch: Any) -> Any:
    changed = apply_patch(freeze(value, label="it"), freeze(patch, label="patch"))
    return thaw(changed)
