"""`match.inspect`: that somebody looks into a match, on record.

Who inspects a match that goes on sees what its players hide from each other. The log
itself is read page by page (`match_records`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["inspect_match"]


def inspect_match(parts: VerbParts) -> Verb:
    """The outcome: how many `records` there are, whether it `ended`."""
    return Verb("match.inspect", partial(_inspect, parts))


async def _inspect(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    line = parts.hosting.states.line(match)
    if line is None:
        raise CommandFailed("unknown_match", "There is no such match.")
    return {"records": line.index + 1, "ended": line.ended}
