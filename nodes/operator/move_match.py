"""`match.move`: another node serves a match, alone.

A match that is at home is given a shard of its own first (`replication/pinning.py`).
That shard is moved as any (`move_shard.py`). If that does not come off in time, it is
withdrawn, and the match goes on where it was. A match that is pinned and gains nothing
by it is folded back by itself, in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from ...runtime.errors import PinRefused
from .move_shard import MOVE_S, ShardMove, core_of, seconds_of
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["move_match"]

LOOK_S = 0.01
"""Between two looks whether it is pinned."""

PIN_S = 10.0
"""In which it must have a shard of its own: an owner tries for about a second."""

PAUSE_S = 2.0
"""For the first sign of the new owner, by which the pause is measured."""


def move_match(parts: VerbParts) -> Verb:
    """`match.move`: `to` is the node, `timeout_s` how long the move may take."""
    return Verb("match.move", partial(_move_match, parts))


async def _move_match(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    to = command.args.get("to")
    if not isinstance(to, str):
        raise CommandFailed("malformed_request", "`to` is a node's id.")
    timeout_s = seconds_of(command.args, "timeout_s", MOVE_S)
    began_s = anyio.current_time()
    match = here(parts, command)
    _check(parts, match, to)
    pinned_ms = await _pin(parts, match)
    if pinned_ms is not None:
        command.did = "The match has a shard of its own."
    shard = parts.pins.pin_of(match)
    move = ShardMove(parts, command, shard, to)
    handovers = core_of(parts).handovers
    number = handovers.count
    done = await move.run(timeout_s)
    pause_ms = done["pause_ms"]
    with anyio.move_on_after(PAUSE_S):
        while pause_ms is None:
            await anyio.sleep(LOOK_S)
            told = [h for h in handovers.since(number) if h.shard == shard]
            pause_ms = told[-1].pause_ms if told else None
    return {
        "match": match,
        "from": done["from"],
        "to": to,
        "shard": shard,
        "epoch": done["epoch"],
        "pinned_ms": pinned_ms,
        "pause_ms": pause_ms,
        "took_ms": round((anyio.current_time() - began_s) * 1000),
    }


def _check(parts: VerbParts, match: str, to: str) -> None:
    """
    Raises:
        CommandFailed: already_there, no_such_node, node_draining, lacks_games.
    """
    fleet = core_of(parts).placing.fleet
    if to == parts.node:
        raise CommandFailed("already_there", f"{to} serves match {match} already.")
    if to not in fleet.registered:
        known = ", ".join(sorted(fleet.registered))
        raise CommandFailed("no_such_node", f"No node {to!r} runs; there are: {known}.")
    if fleet.leaves(to):
        raise CommandFailed(
            "node_draining",
            f"{to} drains, and is given nothing; `hotseat node undrain` ends that.",
        )
    line = parts.hosting.states.line(match)
    if line is not None and (line.game, line.version) not in fleet.games.get(to, ()):
        raise CommandFailed(
            "lacks_games", f"{to} does not have {line.game} {line.version}."
        )


async def _pin(parts: VerbParts, match: str) -> int | None:
    """Give the match a shard of its own; how long that took. None: it has one.

    Raises:
        CommandFailed: Why it has none: pins_full, moving, busy, no_such_match, ended,
            not_pinned, or the code of a match that is set apart.
        CommandElsewhere: Another node serves it.
    """
    if parts.pins.pin_of(match):
        return None
    replicator = parts.hosting.replicator
    if replicator.runner is None:
        raise CommandElsewhere("")
    began_s = anyio.current_time()
    try:
        replicator.runner.pin(match, replicator.now_ms())
    except PinRefused as error:
        if error.code == "not_owner":
            raise CommandElsewhere("") from error
        raise CommandFailed(error.code, f"Match {match} is not moved: {error}.") from (
            error
        )
    core = replicator.runner.core
    with anyio.move_on_after(PIN_S):
        while True:
            shard = parts.pins.pin_of(match)
            replica = core.shard(shard, replicator.now_ms()) if shard else None
            if replica is not None and replica.serving:
                return round((anyio.current_time() - began_s) * 1000)
            await anyio.sleep(LOOK_S)
    raise CommandFailed(
        "pin_failed",
        f"Match {match} was given no shard of its own within {PIN_S:g} s: is the"
        " coordinator away? It goes on where it was.",
    )
