"""Commands to one match, through its actor: committed before they are answered.

They carry the id of the operator's command, which the match remembers. So one whose end
is not known, as when the match's owner changed meanwhile, is asked for again, here or
at the next owner, and is done once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from ...runtime.command import Applied, Denied, Intervention, ResignSeat, Terminate
from .end_apart import end_apart
from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["INTERVENE_S", "intervene", "resign_seat", "terminate"]

INTERVENE_S = 20.0
"""In which it must be committed. A takeover fits into it."""

AGAIN_S = 0.05

_AGAIN = frozenset({"retry", "moved", "busy", "not_committed", "no_owner"})
"""Not known, or not now: the same command is asked for again."""

_UNDONE = frozenset({"moved", "busy"})
"""Of these: the match has not even read it."""

_VERDICTS = frozenset({"quarantined", "internal_error"})
"""What a match answers that is set apart, and could be carried on."""


async def intervene(
    parts: VerbParts, command: OperatorCommand, asked: Intervention
) -> Applied:
    """Have the match of the command do it; return when that is committed.

    Raises:
        CommandElsewhere: Another node serves it, or none.
        CommandFailed: The match's refusal; outcome_unknown: not committed in time, and
            it may be yet.
    """
    with anyio.move_on_after(INTERVENE_S):
        while True:
            match = here(parts, command)
            answer = await parts.hosting.supervisor.command(match, asked)
            if isinstance(answer, Applied):
                return answer
            assert isinstance(answer, Denied), answer
            if answer.refusal.code not in _AGAIN:
                raise CommandFailed(answer.refusal.code, answer.refusal.message)
            if answer.refusal.code not in _UNDONE:
                command.did = "It was handed to the match, which may have done it."
            await anyio.sleep(AGAIN_S)
    raise CommandFailed(
        "outcome_unknown",
        f"Nothing was committed within {INTERVENE_S:g} s; it may be done yet. Look at "
        "the match, and at its copies.",
    )


def terminate(parts: VerbParts) -> Verb:
    """`match.terminate`: the match ends; its players read why."""
    return Verb("match.terminate", partial(_terminate, parts))


def resign_seat(parts: VerbParts) -> Verb:
    """`match.resign-seat`: the seat `seat` gives up, by the game's own rule."""
    return Verb("match.resign-seat", partial(_resign_seat, parts))


async def _terminate(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    asked = Terminate(command.id, command.who, command.why)
    try:
        return _done(await intervene(parts, command, asked))
    except CommandFailed as error:
        if error.code not in _VERDICTS:
            raise
    return _done(await end_apart(parts, command, command.target, asked))


async def _resign_seat(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    seat = command.args.get("seat")
    if not isinstance(seat, str):
        raise CommandFailed("malformed_request", "`seat` is no name of a seat.")
    asked = ResignSeat(command.id, command.who, command.why, seat=seat)
    return _done(await intervene(parts, command, asked))


def _done(applied: Applied) -> dict[str, Any]:
    return {"revision": applied.revision, "record": applied.index}
