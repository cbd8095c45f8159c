"""What a node takes for its memory where nobody says: `node.memory_mib` unset."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotseat.nodes.node.memory_limit import memory_limit_bytes
from hotseat.nodes.node.memory_room import MIB, MemoryRoom

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def limited(root: Path, groups: str, **limits: str) -> int:
    """What is found where these are the control groups; `limits` by file."""
    for name, text in {"proc/self/cgroup": groups, **limits}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return memory_limit_bytes(root)


@pytest.mark.parametrize(
    ("groups", "limits", "found"),
    [
        ("0::/", {"memory.max": "64000000"}, 64_000_000),
        ("0::/", {"memory.max": "max"}, MACHINE),
        ("0::/", {"memory.max": str(2 * MACHINE)}, MACHINE),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "5000"}, 5000),
        ("0::/unseen/b", {"memory.max": "6000"}, 6000),
        (
            "5:cpu,memory:/c\n1:cpu:/d\n0::/",
            {"memory/c/memory.limit_in_bytes": "7000"},
            7000,
        ),
        ("5:memory:/c", {"memory/c/memory.limit_in_bytes": str(1 << 63)}, MACHINE),
        ("5:memory:/unseen", {"memory/memory.limit_in_bytes": "8000"}, 8000),
        ("1:cpu:/c", {"memory/memory.limit_in_bytes": "8000"}, MACHINE),
    ],
)
def test_the_least_limit_of_the_control_groups_is_found(
    tmp_path: Path, groups: str, limits: dict[str, str], found: int
) -> None:
    """Of either version, its own or one around it; without one, the machine decides."""
    files = {f"sys/fs/cgroup/{name}": text for name, text in limits.items()}
    assert limited(tmp_path, groups, **files) == found


def test_without_control_groups_it_is_what_the_machine_has(tmp_path: Path) -> None:
    """As on other systems."""
    assert memory_limit_bytes(tmp_path) == MACHINE


def test_a_node_that_is_told_nothing_heeds_what_it_found() -> None:
    """Never more than the machine has, so that "full" can come to be."""
    memory = MemoryRoom(0)
    assert memory.judge(MACHINE)
    assert not memory.room
    assert memory.judge(MIB)
    assert memory.room
