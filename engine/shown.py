"""What a page draws beside a view: where the match stands, and what derives from that.

The path of the leaf and where transitions lead from it are the same for everybody who
knows the game: they are always shown. Label, metadata, control and selectors are made
from the whole of G, so they are shown only of a game without secrets
(`open_information=True`); a game with secrets says in its views what may be seen.
"""

from __future__ import annotations

from .definition import Game
from .jsonvalue import Json
from .redact import redact_step
from .snapshot import Snapshot
from .step import Step

__all__ = ["shown_derived", "shown_step"]


def shown_derived(game: Game, snapshot: Snapshot) -> dict[str, Json]:
    """`path`, `pending_targets`, and for a game without secrets what else derives.

    The value is fresh and on its way out: it is not frozen.
    """
    derived = snapshot.derived
    meta = derived.control_meta
    shown: dict[str, Json] = {
        "path": list(snapshot.position.path),
        "pending_targets": list(meta.pending_targets),
    }
    if game.open_information:
        shown["label"] = meta.label
        shown["metadata"] = meta.metadata
        shown["control"] = derived.control
        shown["selectors"] = derived.selectors
    return shown


def shown_step(game: Game, step: Step, seat: str | None, view: Json) -> dict[str, Json]:
    """A step as a page draws it: `told` is what `redact_step` leaves of it, `view` what
    the seat sees after it, `shown` what derives then.

    Raises:
        ViewError: the game's own `redact` raised or gave what is not JSON.
    """
    snapshot = step.snapshot
    return {
        "revision": snapshot.revision,
        "kind": step.kind,
        "state": snapshot.position.name,
        "turn": snapshot.position.turn,
        "active_players": snapshot.derived.active_players,
        "deadline": snapshot.derived.control_meta.deadline,
        "result": snapshot.meta.result,
        "source_path": list(step.transition.source_path),
        "told": redact_step(game, step, seat),
        "view": view,
        "shown": shown_derived(game, snapshot),
    }
