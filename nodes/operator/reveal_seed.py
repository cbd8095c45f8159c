"""`match.reveal-seed`: the seed of a match, from which all its chance follows.

Of one that goes on only with `running`: who knows the seed knows what will be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ...runtime.refusal import RUNTIME_REFUSALS
from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["reveal_seed"]


def reveal_seed(parts: VerbParts) -> Verb:
    """That it was told stands in the record; the seed does not."""
    return Verb("match.reveal-seed", partial(_reveal, parts), frozenset({"seed"}))


async def _reveal(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    supervisor = parts.hosting.supervisor
    log = supervisor.committed_log(match)
    if log is None:
        code = supervisor.absence(match)
        why = RUNTIME_REFUSALS.get(code, "The match's log is not here.")
        raise CommandFailed(code, why)
    if not log.ended and command.args.get("running") is not True:
        raise CommandFailed(
            "match_running",
            "The match goes on, and its seed tells what will be drawn: with --running "
            "it is told all the same.",
        )
    first = log.records.read(0, 1)[0]
    return {"seed": first.input["seed"], "ended": log.ended}
