"""Tries whether stored matches could go on under another version of their game.

What `hotseat match upgrade` would do, without a cluster: each match is played to its
end under the version that it has, and the other one is to take over there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ...engine.errors import EngineError
from ...engine.frozen import enclose
from ...engine.machine import Machine
from ...engine.operator import upgrade_state, view_problem
from ...engine.refusal import Refusal
from ..operator_error import OperatorError
from .check import Checked
from .saved_match import SavedMatch, read_saved

__all__ = ["check_upgrades"]


def check_upgrades(
    paths: Iterable[Path], new: Machine, old: str | None
) -> Iterator[Checked]:
    """Try one file after the other: it `fits`, or is `refused` as the match would be.

    `old` is the spec of the version that they have, by default the installed one.
    """
    for path in paths:
        try:
            yield _tried(read_saved(path), new, old)
        except (OperatorError, EngineError) as error:
            message = error.message if isinstance(error, OperatorError) else str(error)
            yield Checked(str(path), None, "error", code=error.code, message=message)


def _tried(saved: SavedMatch, new: Machine, old: str | None) -> Checked:
    """
    Raises:
        OperatorError, EngineError: The match cannot be played to its end.
    """
    if saved.game != new.game.name:
        raise OperatorError(
            "wrong_game", f"it is a match of {saved.game}, not of {new.game.name}"
        )
    timeline = saved.open(old)
    head, version = timeline.head, new.game.version
    row = (str(saved.path), saved.match)
    if saved.version == version:
        text = f"it is played under version {version} already"
        return Checked(*row, "refused", head, code="same_version", message=text)
    words = {"op": "check", "who": "", "why": "", "from": saved.version, "to": version}
    snapshot = timeline.frame(head).snapshot
    upgraded = upgrade_state(new, snapshot, enclose(words), now=snapshot.meta.now)
    if isinstance(upgraded, Refusal):
        code, text = upgraded.code, upgraded.message
        return Checked(*row, "refused", head, code=code, message=text)
    if blind := view_problem(new, upgraded[0].snapshot):
        return Checked(*row, "refused", head, code="view_error", message=blind)
    return Checked(*row, "fits", head)
