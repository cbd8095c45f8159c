"""How much memory this process may come to hold: its control groups', or the machine's.

A container's limit is its control group's: `memory.max` (version 2), or
`memory.limit_in_bytes` (version 1). The limits of the groups around it hold, too; a
container sees its own group as the root of the tree, or names one that it cannot see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["memory_limit_bytes"]

CGROUPS = "sys/fs/cgroup"


def memory_limit_bytes(root: Path = Path("/")) -> int:
    """The least of the limits that are set, and of what the machine has. `root` is
    where `proc` and `sys` are."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    for file in _limit_files(root):
        try:
            text = file.read_text().strip()
        except OSError:  # no such group, or not for us to see
            continue
        if text.isdecimal() and int(text):  # "max": none
            yield int(text)


def _limit_files(root: Path) -> Iterator[Path]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # a system without control groups
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            tree, name = root / CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            tree, name = root / CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        path = PurePosixPath(group)
        for each in (path, *path.parents):
            yield tree / each.relative_to("/") / name
