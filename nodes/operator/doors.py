"""Where the doors of a cluster's nodes are, as seen from this machine.

The nodes of this folder are known by their pid files; of a cluster that has no folder
here, one node is known by its door. They know all others by the coordinator. One of
those on this machine, in a folder of its own, has a door here, too; one on another
machine has none that is reached from here, unless it lies open to the network (a
`sealed_door`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from ..cluster_afar import ClusterAfar
from ..cluster_dir import ClusterDir, natural_order
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .ask_door import ask_door
from .sealed_door import is_private

__all__ = ["Doors", "Elsewhere", "find_doors"]


EVERY_ADDRESS = ("0.0.0.0", "[::]", "*")
"""What is listened on, and cannot be dialled."""


class Elsewhere(OperatorError):
    """A node that cannot be asked from here. Code: elsewhere, or unregistered."""

    def __init__(self, node: str, registered: bool) -> None:
        self.registered = registered
        if registered:
            code, said = "elsewhere", "runs on another machine, and has no open door"
        else:
            code, said = "unregistered", "is not registered: it does not run"
        super().__init__(
            code,
            f"{node} {said}",
            hint=f"ask on the machine, or in the container, of {node}",
            exit_code=ExitCode.UNREACHABLE,
        )


@dataclass(frozen=True, slots=True)
class Doors:
    """`reached`: address by node. `away`: the nodes that have no door for us."""

    reached: Mapping[str, str]
    away: Mapping[str, Elsewhere]

    def nodes(self) -> tuple[str, ...]:
        """All of them, n2 before n10."""
        return tuple(sorted({*self.reached, *self.away}, key=natural_order))

    def of(self, node: str) -> str:
        """A node's door; "" if it has none for us."""
        return self.reached.get(node, "")


async def find_doors(home: ClusterDir) -> Doors:
    """The doors of all nodes that the folder, or one of its nodes, knows of."""
    if isinstance(home, ClusterAfar):
        return await _find_afar(home)
    here = {node: home.door(node) for node in home.node_names()}
    return _found(home, here, await _others(here))


async def _find_afar(home: ClusterAfar) -> Doors:
    known = home.doors()
    others = await _others(known)
    if not others:
        return Doors(known, {})  # they say themselves that they do not answer
    found = _found(home, {home.entry_node: home.entry}, others)
    home.learned.clear()
    home.learned.update(found.reached)
    return found


def _found(
    home: ClusterDir, here: Mapping[str, str], others: Mapping[str, Mapping[str, Any]]
) -> Doors:
    reached, away = dict(here), dict[str, Elsewhere]()
    for node, known in others.items():
        if node in here:
            continue
        door = _reached(known, home)
        if door:
            reached[node] = door
        else:
            away[node] = Elsewhere(node, known.get("registered") is True)
    return Doors(reached, away)


async def _others(here: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What the first node of this folder that answers knows of all of them."""
    found: dict[str, dict[str, Any]] = {}

    async def ask(door: str) -> None:
        try:
            answer = await ask_door(door, "nodes")
        except OperatorError:
            return  # down, or of a build that does not know: others are asked, too
        found.update(answer["nodes"])
        asking.cancel_scope.cancel()

    async with anyio.create_task_group() as asking:
        for door in here.values():
            asking.start_soon(ask, door)
    return found


def _reached(known: Mapping[str, Any], home: ClusterDir) -> str:
    """The door of a node of another folder, if there is a way to it from here."""
    door = str(known.get("door", ""))
    if not door or not known.get("registered"):
        return ""
    if not is_private(door):
        return _open_door(door, str(known.get("inbox", "")))
    machine = home.place().partition("/")[0]
    same = machine and machine == str(known.get("place", "")).partition("/")[0]
    socket = Path(door.removeprefix("ipc://"))
    return door if same and _is_there(socket) else ""


def _open_door(door: str, inbox: str) -> str:
    """One that listens on every address is reached where its node's inbox is."""
    port = door.rpartition(":")[2]
    if any(door == f"tcp://{every}:{port}" for every in EVERY_ADDRESS):
        return f"{inbox.rpartition(':')[0]}:{port}"
    return door


def _is_there(socket: Path) -> bool:
    try:
        return socket.is_socket()
    except OSError:  # in a folder that is not ours
        return False
