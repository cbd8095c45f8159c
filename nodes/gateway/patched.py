"""A batch told by what changed: JSON patches (RFC 6902) in place of snapshots. Pure.

A `batch_applied` holds a snapshot for each of its steps, and the last of them once
more: nearly the same each time. A `batch_patched` holds, for each step, the patch that
leads to its snapshot from the one before; for the first step from the snapshot that
the page was told last. What follows the last step (`patch`) leads to the newest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...engine.operator.json_patch import make_patch

__all__ = ["patched"]


def patched(message: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The `batch_applied` for a page that holds the snapshot `base`."""
    steps = []
    holds: Any = base
    for step in message["steps"]:
        said = {name: part for name, part in step.items() if name != "snapshot"}
        steps.append({**said, "patch": make_patch(holds, step["snapshot"])})
        holds = step["snapshot"]
    said = {name: part for name, part in message.items() if name != "snapshot"}
    last = make_patch(holds, message["snapshot"])
    more = {"patch": last} if last else {}
    return {**said, "type": "batch_patched", "steps": steps, **more}
