"""What operators can have done at a node: all verbs.

To add one, write a file that makes it, and name it in `node_verbs`.
"""

from __future__ import annotations

from functools import partial

from ..client.connect import connect
from .change_match import edit, upgrade
from .create_match import PRINCIPAL, create_match
from .drain_node import drain_node, undrain_node
from .export_match import export_match
from .import_match import import_match
from .inspect_match import inspect_match
from .intervene import resign_seat, terminate
from .move_match import move_match
from .move_shard import move_shard
from .quarantine import quarantine, release
from .recover_shard import recover_shard, trust_node
from .remove_node import remove_node
from .reveal_seed import reveal_seed
from .spread_shards import spread_shards
from .verb import Verb
from .verb_parts import VerbParts, here

__all__ = ["VerbParts", "here", "node_verbs"]


def node_verbs(parts: VerbParts) -> tuple[Verb, ...]:
    """All of them."""
    return (
        create_match(parts.games, partial(connect, parts.home, principal=PRINCIPAL)),
        drain_node(parts),
        edit(parts),
        export_match(parts),
        import_match(parts),
        inspect_match(parts),
        move_match(parts),
        move_shard(parts),
        quarantine(parts),
        release(parts),
        recover_shard(parts),
        remove_node(parts),
        resign_seat(parts),
        reveal_seed(parts),
        spread_shards(parts),
        terminate(parts),
        trust_node(parts),
        undrain_node(parts),
        upgrade(parts),
    )
