"""What verbs are made of: the parts of one node, and which matches are its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...runtime.control_plane import Keys
from ...runtime.coordinator import Coordinator
from ...runtime.games import GameRegistry
from ...runtime.match_id import is_match_id
from ...runtime.pin_table import PinTable
from ..cluster_dir import ClusterDir
from ..node.hosting import Hosting
from ..node.router import Router
from .verb import CommandElsewhere, CommandFailed, OperatorCommand

__all__ = ["VerbParts", "here"]


@dataclass(frozen=True, slots=True)
class VerbParts:
    """What verbs are made of: the parts of one node.

    `shards` is how many there are, pinned ones aside.
    """

    node: str
    home: ClusterDir
    hosting: Hosting
    router: Router
    pins: PinTable
    coordinator: Coordinator
    keys: Keys
    games: GameRegistry
    shards: int
    now_ms: Callable[[], int]


def here(parts: VerbParts, command: OperatorCommand) -> str:
    """The match that the command is about, which this node serves.

    Raises:
        CommandElsewhere: Another node does, or none.
        CommandFailed: malformed_request.
    """
    match = command.target
    if not is_match_id(match):
        raise CommandFailed("malformed_request", f"{match!r} is no id of a match.")
    shard = parts.pins.shard_of(match)
    if shard in parts.router.owned:
        return match
    table = parts.router.table
    owner = "" if table is None else table.owner(shard)
    raise CommandElsewhere("" if owner == parts.node else owner)
