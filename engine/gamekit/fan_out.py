"""The transitions of a move, and of a timeout: one for each outcome, in a fixed order.

In a phase: stay, end the turn, go to each other phase (in this turn, in the next), and
finish. They are alternatives of one decision, so the body runs once for an event.

A state has one timeout transition with one target, but a timeout may have any outcome.
So the timeout stays where it is, and enqueues an event with the outcome for its
payload. That event fans out like a move. No player can dispatch it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from ..alternative import Alternative, Decided, Decision
from ..context import ResolverContext
from ..definition import enqueue
from ..draft import is_changed
from ..errors import DraftError
from ..frozen import FDict
from ..game import Transition
from .context import MoveContext, Rules, TimeoutContext
from .outcome import END_TURN, FINISH, FINISHED, GOTO, STAY, Outcome, decided, key_of
from .parts import Move, OnTimeout

__all__ = ["OUTCOME_EVENT", "move_edges", "timeout_edges"]

OUTCOME_EVENT: Final = "__gamekit_phase_outcome"
"""Carries the outcome of a timeout."""


def move_edges(
    name: str,
    move: Move,
    allowed: tuple[str, ...],
    phases: tuple[str, ...],
    rules: Rules,
) -> Iterator[Transition]:
    """The transitions of a move, by the phases that allow it."""

    def decide(ctx: ResolverContext) -> object:
        acting = MoveContext(
            ctx, rules, args=ctx.event.payload, player_id=ctx.player_id
        )
        outcome = _outcome(move.run(acting), f'the move "{name}"', "")
        said = decided(outcome.kind, outcome.parts, ctx.G)
        if ctx.drafted is not None and type(said) is Decided:
            return _with_draft(said, ctx, acting.G)
        return said

    decide.__wrapped__ = move.run  # type: ignore[attr-defined]
    for phase in allowed:
        yield from _fan_out(name, phase, f"{name}:{phase}", phases, decide)


def timeout_edges(
    phase: str, on_timeout: OnTimeout, phases: tuple[str, ...], rules: Rules
) -> Iterator[Transition]:
    """The transitions of a phase's timeout."""
    name = f"__timeout:{phase}"

    def pass_on(ctx: ResolverContext) -> object:
        acting = TimeoutContext(ctx, rules)
        answer = on_timeout(acting)
        if answer is None:
            return None
        outcome = _outcome(answer, f'on_timeout of "{phase}"', ", or None")
        payload = {"kind": outcome.kind, **outcome.parts}
        passed = {"enqueue": [enqueue(OUTCOME_EVENT, payload)]}
        if ctx.drafted is None:
            return passed
        if "patch" not in payload:
            _require_unchanged(ctx.drafted, acting.G)
        elif not acting.G.keys() <= payload["patch"].keys():
            raise DraftError(
                "the draft of a timeout cannot take keys from G; set them to None"
            )
        return {**passed, "G": ctx.G}

    pass_on.__wrapped__ = on_timeout  # type: ignore[attr-defined]
    yield from _fan_out(OUTCOME_EVENT, phase, name, phases, _read_outcome)
    yield Transition(None, phase, phase, pass_on, name, "preserve", "timeout")


def _fan_out(
    event: str, phase: str, label: str, phases: tuple[str, ...], decide: Decision
) -> Iterator[Transition]:
    def edge(
        suffix: str, target: str, *keys: Hashable, turn: str = "preserve"
    ) -> Transition:
        resolve = Alternative(decide, frozenset(keys))
        return Transition(event, phase, target, resolve, f"{label}:{suffix}", turn)

    yield edge("stay", phase, key_of(STAY), key_of(GOTO, phase, False))
    yield edge(
        "end_turn",
        phase,
        key_of(END_TURN),
        key_of(GOTO, phase, True),
        turn="increment",
    )
    for target in phases:
        if target != phase:
            suffix = f"goto:{target}"
            yield edge(suffix, target, key_of(GOTO, target, False))
            yield edge(
                f"{suffix}:end_turn",
                target,
                key_of(GOTO, target, True),
                turn="increment",
            )
    yield edge("finish", FINISHED, key_of(FINISH), turn="increment")


def _read_outcome(ctx: ResolverContext) -> object:
    """The outcome of a timeout, from the event that carries it."""
    parts = ctx.event.payload
    if not isinstance(parts, Mapping):
        return None
    return decided(parts.get("kind"), parts, ctx.G)


def _outcome(answer: object, who: str, more: str) -> Outcome:
    """Raises TypeError: it is none."""
    if type(answer) is Outcome:
        return answer
    raise TypeError(
        f"{who} returned {answer!r}; it must return an outcome: stay(...), "
        f"end_turn(...), goto(...), finish(...) or invalid(...){more}"
    )


def _with_draft(said: Decided, ctx: ResolverContext, G: FDict) -> Decided:
    """What was decided, with a G in its answer, as the core wants of who drafted.

    Raises:
        DraftError: the draft was changed, but is not the patch.
    """
    answer: Any = said.answer
    if "G" in answer:
        return said
    _require_unchanged(ctx.drafted, G)
    return Decided(said.key, {**answer, "G": ctx.G})


def _require_unchanged(part: Any, G: FDict) -> None:
    """Raises DraftError: a change would be lost."""
    if is_changed(part, G):
        raise DraftError(
            "ctx.draft() was changed but not returned; return it as the patch: "
            "stay(draft), end_turn(draft)"
        )
