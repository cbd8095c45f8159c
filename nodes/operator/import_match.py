"""`match.import`: a match goes on here from its exported log.

Every record is done again and has the digest that the log says, before anything is
written; then they are committed as they are, in this cluster, under the match's own id.
Meanwhile the match is set apart at all nodes. If that is interrupted, it stays so, with
the part that came, and the same command goes on behind that part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...engine.errors import EngineError
from ...engine.record import Record, RecordKind
from ...engine.replay.log_file import read_log_file
from ...runtime.games import machine_finder
from .bring_in import commit_apart, play_log
from .quarantine import let_go_on, write_apart
from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["import_match"]


def import_match(parts: VerbParts) -> Verb:
    """The log is attached, as a file of `match.export`; the target is the match."""
    return Verb("match.import", partial(_import, parts))


async def _import(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    records = _read(match, command.attached)
    known = _known(parts, match, records)
    played = await play_log(machine_finder(parts.games), command, records, known)
    await write_apart(parts, command, match)
    if played.changes:
        await commit_apart(parts, command, played.before, played.changes)
    away_ms = max(0, parts.now_ms() - records[-1].time_ms)
    code = await let_go_on(parts, command, match, apart_ms=int(away_ms))
    if code:
        raise CommandFailed(code, f"It came, and cannot be carried on at {parts.node}.")
    last = records[-1]
    return {
        "records": len(records),
        "committed": len(played.changes),
        "digest": last.digest.hex(),
        "ended": played.state.ended,
    }


def _read(match: str, data: bytes) -> Sequence[Record]:
    """
    Raises:
        CommandFailed: not_a_log, unsupported_format, damaged_file, wrong_match,
            match_pinned.
    """
    try:
        records = read_log_file(data).records
        for record in records:
            if record.kind is RecordKind.DETACH:
                raise CommandFailed(
                    "match_pinned",
                    "The match was in a shard of its own: such a log cannot come in.",
                )
    except EngineError as error:
        raise CommandFailed(error.code, f"{error}.") from error
    if records[0].input.get("id") != match:
        raise CommandFailed("wrong_match", "The file holds the log of another match.")
    return records


def _known(parts: VerbParts, match: str, records: Sequence[Record]) -> int:
    """The index of the last record that is here; -1: none.

    Raises:
        CommandFailed: match_exists.
    """
    line = parts.hosting.states.line(match)
    if line is None:
        return -1
    if line.buried or (line.ended and not line.quarantined):
        raise CommandFailed("match_exists", "The match is here, and is over.")
    if not line.quarantined:
        raise CommandFailed("match_exists", "The match is here, and goes on.")
    if line.index >= len(records) or records[line.index].digest != line.digest:
        raise CommandFailed(
            "match_exists",
            f"The match is here, set apart after {line.index + 1} records, and that is "
            "not how the file begins.",
        )
    return line.index
