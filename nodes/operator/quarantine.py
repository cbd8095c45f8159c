"""`match.quarantine`, `match.release`: a match is set apart everywhere, and goes on.

Both are written into the coordinator, where every node reads them, those too that are
down now. A match comes back only as its log has it; if copies differ it stays apart:
which of them is right is for people to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from ...runtime.control_plane import Verdict
from ...runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from ...runtime.journal import MatchLine
from ..node.poison import write_verdict
from ..supervisor.apart import NOT_SETTLED
from .verb import CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["APART_CODE", "let_go_on", "quarantine", "release", "write_apart"]

APART_CODE = "quarantined"
"""What a match answers that an operator has set apart."""

SETTLE_S = 10.0
"""In which what a match had caused must be committed, before it can go on."""

LOOK_S = 0.05


def quarantine(parts: VerbParts) -> Verb:
    """`match.quarantine`: it answers `quarantined` until it is released."""
    return Verb("match.quarantine", partial(_quarantine, parts))


def release(parts: VerbParts) -> Verb:
    """`match.release`: it goes on, as its log has it.

    `copies` says what the nodes' copies are: {node: [records, digest, code]}.
    """
    return Verb("match.release", partial(_release, parts))


async def _quarantine(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    line = _line(parts, match)
    if line.ended and not line.quarantined:
        raise CommandFailed("game_over", "The match is over: nothing goes on in it.")
    new = await write_apart(parts, command, match)
    parts.hosting.supervisor.set_apart(match, APART_CODE)
    return {"was": line.quarantined, "new": new}


async def _release(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    line = _line(parts, match)
    apart = _check_copies(command.args.get("copies", {})) or bool(line.quarantined)
    code = await let_go_on(parts, command, match, was_apart=apart)
    if code:
        raise CommandFailed(
            code,
            f"Its copy at {parts.node} cannot be carried on: see its log. Another copy "
            "may be whole: hotseat match show tells; its shard can be moved there.",
        )
    now = _line(parts, match)
    return {
        "was": line.quarantined,
        "records": now.index + 1,
        "digest": now.digest.hex(),
    }


async def write_apart(parts: VerbParts, command: OperatorCommand, match: str) -> bool:
    """All nodes set the match apart from now on; False: they do already.

    Raises:
        CommandFailed: coordinator_away, control_record_invalid.
    """
    new = await _write(parts, command, match, apart=True) is not None
    if new:
        command.did = "The match is set apart."
    return new


async def let_go_on(
    parts: VerbParts,
    command: OperatorCommand,
    match: str,
    *,
    was_apart: bool = True,
    apart_ms: int = 0,
) -> str:
    """All nodes let the match go on: "", or the code that it still answers with here.

    Nobody could act in it for `apart_ms` at least.

    Raises:
        CommandFailed: not_set_apart, coordinator_away, control_record_invalid.
    """
    new = await _write(
        parts, command, match, apart=False, was_apart=was_apart, apart_ms=apart_ms
    )
    if new is None:
        raise CommandFailed("not_set_apart", "The match is not set apart.")
    code = NOT_SETTLED
    with anyio.move_on_after(SETTLE_S):
        while True:
            code = parts.hosting.supervisor.bring_back(match, new.apart_ms)
            if code != NOT_SETTLED:
                break
            await anyio.sleep(LOOK_S)
    return code


def _line(parts: VerbParts, match: str) -> MatchLine:
    """
    Raises:
        CommandFailed: unknown_match, game_over.
    """
    line = parts.hosting.states.line(match)
    if line is None:
        raise CommandFailed("unknown_match", "There is no such match.")
    if line.buried:
        raise CommandFailed("game_over", "The match is over, and its log is gone.")
    return line


async def _write(
    parts: VerbParts,
    command: OperatorCommand,
    match: str,
    *,
    apart: bool,
    was_apart: bool = False,
    apart_ms: int = 0,
) -> Verdict | None:
    """
    Raises:
        CommandFailed: coordinator_away, control_record_invalid.
    """
    said = (command.id, command.who, command.why, parts.now_ms(), apart_ms)
    try:
        return await write_verdict(
            parts.coordinator,
            parts.keys,
            match,
            Verdict(*said),
            apart=apart,
            was_apart=was_apart,
        )
    except CoordinatorUnavailable as error:
        raise CommandFailed(
            "coordinator_away", f"It is not known whether that is written: {error}"
        ) from error
    except ControlRecordInvalid as error:
        raise CommandFailed(error.code, str(error)) from error


def _check_copies(copies: Any) -> bool:
    """Whether one of them is set apart.

    Raises:
        CommandFailed: malformed_request; copies_differ: of two that are equally long.
    """
    ends: dict[int, dict[str, list[str]]] = {}
    apart = False
    try:
        for node, (records, digest, code) in copies.items():
            ends.setdefault(records, {}).setdefault(digest, []).append(node)
            apart |= bool(code)
    except (AttributeError, TypeError, ValueError) as error:
        raise CommandFailed("malformed_request", f"`copies`: {error}.") from error
    for records, digests in sorted(ends.items()):
        if len(digests) > 1:
            said = "; ".join(
                f"{digest[:16]} at {', '.join(sorted(nodes))}"
                for digest, nodes in sorted(digests.items())
            )
            raise CommandFailed(
                "copies_differ", f"After {records} records its copies differ: {said}."
            )
    return apart
