"""Modifiers: what changes a value on its way, in an order that can be explained.

    strength = evaluate_number(
        card["strength"],
        [
            Modifier("banner", lambda value, ctx: value + 2),
            Modifier("curse", lambda value, ctx: value // 2, stage="late"),
        ],
        stage_order=["default", "late"],
    )

Stages come in the order that is given, then in the order in which they first appear;
within one, a higher priority comes first, then what was declared first. The evaluation
tells what was applied, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from ..errors import DefinitionError

__all__ = [
    "AppliedModifier",
    "Evaluation",
    "Modifier",
    "evaluate_number",
    "evaluate_value",
]

V = TypeVar("V")

DEFAULT_STAGE: Final = "default"


@dataclass(frozen=True, slots=True)
class Modifier(Generic[V]):
    """One change. `apply` is called with the value so far, and the context."""

    id: str
    apply: Callable[[V, Any], V]
    priority: int | float = 0
    stage: str = DEFAULT_STAGE


@dataclass(frozen=True, slots=True)
class AppliedModifier:
    """One change that was made. `index` is its place among the modifiers given."""

    id: str
    index: int
    priority: int | float
    stage: str


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[V]):
    """The value in the end, and what was applied on the way."""

    value: V
    applied: tuple[AppliedModifier, ...]


def evaluate_number(
    base: float,
    modifiers: Sequence[Modifier[float]],
    *,
    context: Any = None,
    stage_order: Sequence[str] = (),
) -> Evaluation[float]:
    """A number, after the modifiers.

    Raises:
        DefinitionError: a modifier has no id, or a stage is named twice, or not at all.
    """
    return evaluate_value(base, modifiers, context=context, stage_order=stage_order)


def evaluate_value(
    base: V,
    modifiers: Sequence[Modifier[V]],
    *,
    context: Any = None,
    stage_order: Sequence[str] = (),
) -> Evaluation[V]:
    """A value of any kind, after the modifiers.

    Raises:
        DefinitionError: a modifier has no id, or a stage is named twice, or not at all.
    """
    _check_stages(stage_order)
    for modifier in modifiers:
        if not modifier.id:
            raise DefinitionError('a modifier needs an id: Modifier("banner", ...)')
    stages = list(dict.fromkeys([*stage_order, *(m.stage for m in modifiers)]))
    ordered = sorted(
        enumerate(modifiers),
        key=lambda each: (stages.index(each[1].stage), -each[1].priority),
    )
    value = base
    for _, modifier in ordered:
        value = modifier.apply(value, context)
    applied = tuple(
        AppliedModifier(modifier.id, index, modifier.priority, modifier.stage)
        for index, modifier in ordered
    )
    return Evaluation(value, applied)


def _check_stages(stage_order: Sequence[str]) -> None:
    for place, stage in enumerate(stage_order):
        if not stage:
            raise DefinitionError("a stage of stage_order is a non-empty string")
        if stage in stage_order[:place]:
            raise DefinitionError(f'stage_order names the stage "{stage}" twice')
