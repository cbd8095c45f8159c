"""A match goes on under another version of its game: a newer one, or back to an older.

The version that takes it over may declare `migrate(G, from_version)`, which makes its G
of the other's; without one G stays as it is. An operator's way back that undoes an
upgrade brings the patch to G as it was, and migrates nothing.

Position, turn, rng and result stay; the position must be a state of the new version.
"""

from __future__ import annotations

from typing import Final

from ..digest import digest_of
from ..errors import InvalidJsonValueError
from ..frozen import FDict, freeze, freeze_parts
from ..jsonvalue import Json
from ..machine import Machine
from ..refusal import Refusal, fault_from, refuse
from ..snapshot import Snapshot
from ..step import Batch
from .json_patch import PatchError, apply_patch
from .operator_step import operator_batch

__all__ = ["UPGRADE_EVENT", "upgrade_state"]

UPGRADE_EVENT: Final = "__upgrade"
"""How records name the event of an upgrade."""


def upgrade_state(
    machine: Machine, snapshot: Snapshot, asked: FDict, *, now: int | float
) -> tuple[Batch, FDict] | Refusal:
    """Go on under `machine`; also give the record's input.

    `asked` is that input: op, who, why, from, to, and perhaps `patch`, which is then
    done instead of a migration. The input says the digest of the new G too, as `G`; if
    `asked` does, it is compared.

    Refuses with game_over, migrate_failed, position_missing, or derivation_error.
    """
    if snapshot.meta.result is not None:
        return refuse("game_over")
    if problem := _seats_problem(machine, snapshot):
        return refuse("migrate_failed", problem)
    G = _migrated(machine, snapshot.G, asked)
    if isinstance(G, Refusal):
        return G
    after = machine.restate(snapshot, G, event=UPGRADE_EVENT)
    if isinstance(after, Refusal):
        return after
    digest = digest_of(G).hex()
    if asked.get("G", digest) != digest:
        text = f"version {asked['to']} makes another G of the match now than it did"
        return refuse("migrate_failed", text)
    given = freeze_parts({**asked, "G": digest})
    batch = operator_batch(
        "upgrade", UPGRADE_EVENT, given, snapshot, after, op=given["op"], now=now
    )
    return batch, given


def _migrated(machine: Machine, G: Json, asked: FDict) -> Json | Refusal:
    if "patch" in asked:
        try:
            return apply_patch(G, asked["patch"])
        except PatchError as error:
            return refuse("patch_failed", f"The patch does not apply: {error}")
    migrate = machine.game.migrate
    if migrate is None:
        return G
    try:
        made = migrate(G, asked["from"])
        if made is None:
            return refuse("migrate_failed", "The game's migrate returned nothing.")
        return freeze(made, label="what migrate returned")
    except InvalidJsonValueError as error:
        return refuse("migrate_failed", str(error))
    except Exception as error:
        fault = fault_from(
            error, event=UPGRADE_EVENT, label="migrate", function=migrate
        )
        text = f"The game's migrate failed: {fault.exception_type}: {fault.message}"
        return refuse("migrate_failed", text, fault=fault)


def _seats_problem(machine: Machine, snapshot: Snapshot) -> str:
    """Why these players cannot play the new version; "" if they can."""
    game, players = machine.game, snapshot.meta.match["players"]
    unknown = [seat for seat in players if seat not in game.player_ids]
    if unknown:
        return f"Version {game.version} has no seat {', '.join(unknown)}."
    if len(players) < game.min_players:
        return f"Version {game.version} needs at least {game.min_players} players."
    return ""
