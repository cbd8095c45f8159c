"""`match.export`: that the log of a match is given out, on record.

A log holds the seed, everybody's payloads and the digests of tokens. The command says
how much is committed; the log itself is read page by page (`match_records`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["export_match"]


def export_match(parts: VerbParts) -> Verb:
    """The outcome: how many `records`, the `digest` of the last, whether it `ended`."""
    return Verb("match.export", partial(_export, parts))


async def _export(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    line = parts.hosting.states.line(match)
    if line is None:
        raise CommandFailed("unknown_match", "There is no such match.")
    if line.buried:
        raise CommandFailed("game_over", "The match is over, and its log is gone.")
    return {
        "records": line.index + 1,
        "digest": line.digest.hex(),
        "ended": line.ended,
        "code": line.quarantined,
    }
