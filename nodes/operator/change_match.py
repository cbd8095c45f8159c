"""Commands that change a match by hand: `match.edit` and `match.upgrade`.

The patch of an edit is attached, not among the command's arguments: these stand in the
coordinator, and a patch may say what no player may see. It stands in the match's own
log, as all that is hidden does.

Before an upgrade, whoever holds copies of the match is looked up: a node without the
new version could not go on with its copy, and would have to set the match apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from ...engine.limits import PATCH_BYTES_MAX
from ...runtime.command import Applied, Edit, Upgrade
from ...runtime.control_plane import NodeRecord, ShardRecord, decode_record
from ...runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from ...runtime.settle import read_key
from .intervene import intervene
from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["PATCH_TEXT_BYTES_MAX", "edit", "upgrade"]

PATCH_TEXT_BYTES_MAX = 4 * PATCH_BYTES_MAX
"""So that what is far too large is not read at all; the match itself is precise."""


def edit(parts: VerbParts) -> Verb:
    """`match.edit`: the attached JSON patch is applied to G; or the last edit is undone
    (`undo`), and `restores` says the revision whose G is back."""
    return Verb("match.edit", partial(_edit, parts))


def upgrade(parts: VerbParts) -> Verb:
    """`match.upgrade`: the match goes on under the version `to` of its game."""
    return Verb("match.upgrade", partial(_upgrade, parts))


async def _edit(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    undo = command.args.get("undo", False)
    base = command.args.get("base_revision")
    if type(undo) is not bool or not (base is None or type(base) is int):
        raise CommandFailed(
            "malformed_request", "`undo` is true or false, `base_revision` a number."
        )
    patch = None if undo else _patch(command.attached)
    asked = Edit(command.id, command.who, command.why, patch, undo, base)
    applied = await intervene(parts, command, asked)
    outcome = _done(applied)
    if undo:
        # The edit led from there to the revision before this one: nothing was played
        # in between.
        outcome["restores"] = applied.revision - 2
    return outcome


def _patch(attached: bytes) -> Any:
    if len(attached) > PATCH_TEXT_BYTES_MAX:
        text = f"A patch has {PATCH_TEXT_BYTES_MAX:,} bytes at most, as JSON."
        raise CommandFailed("too_large", text)
    try:
        return msgspec.json.decode(attached)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CommandFailed(
            "malformed_patch", f"The patch is no JSON: {error}"
        ) from error


async def _upgrade(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    to = command.args.get("to")
    if not isinstance(to, str) or not to:
        raise CommandFailed("malformed_request", "`to` is no version of a game.")
    match = here(parts, command)
    line = parts.hosting.states.line(match)
    if line is not None and line.game:
        lacking = await _lacking(parts, match, (line.game, to))
        if lacking:
            raise CommandFailed(
                "version_missing",
                f"{line.game} in version {to} is lacking at {', '.join(lacking)}. Load "
                "it wherever the match has a copy.",
            )
    asked = Upgrade(command.id, command.who, command.why, to)
    return {**_done(await intervene(parts, command, asked)), "to": to}


async def _lacking(parts: VerbParts, match: str, game: tuple[str, str]) -> list[str]:
    """The registered nodes that hold the match, or are to, and lack the game.

    Raises:
        CommandFailed: coordinator_away: it cannot be known.
    """
    shard = parts.keys.shard(parts.pins.shard_of(match))
    try:
        found = await read_key(parts.coordinator, shard)
        listing = await parts.coordinator.list(parts.keys.nodes)
        record = (
            None if found is None else decode_record(ShardRecord, shard, found.value)
        )
        nodes = [decode_record(NodeRecord, e.key, e.value) for e in listing.entries]
    except (CoordinatorUnavailable, ControlRecordInvalid) as error:
        raise CommandFailed(
            "coordinator_away", f"Which nodes have that version is not known: {error}"
        ) from error
    holders = {parts.node}
    if record is not None:
        holders |= {node for node, _ in record.isr} | set(record.want)
    return sorted(n.node for n in nodes if n.node in holders and game not in n.games)


def _done(applied: Applied) -> dict[str, Any]:
    return {"revision": applied.revision, "record": applied.index}
