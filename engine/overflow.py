"""The answer to a batch that does not end: which events set each other off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .frozen import freeze
from .limits import INTERNAL_EVENTS_MAX
from .refusal import Refusal, refuse
from .step import Enqueued, Step

__all__ = ["overflow"]


def overflow(steps: Sequence[Step], queue: Iterable[Enqueued]) -> Refusal:
    """Refuse the batch, naming the events that repeat."""
    names = [step.event.event for step in steps if step.kind == "internal"]
    cycle = _cycle(names + [entry.kind for entry in queue])
    return refuse(
        "queue_overflow",
        f"more than {INTERNAL_EVENTS_MAX} internal events in one batch: "
        f"{' -> '.join(cycle)} -> {cycle[0]}",
        details=freeze({"cycle": cycle, "limit": INTERNAL_EVENTS_MAX}),
    )


def _cycle(names: list[str]) -> list[str]:
    """The shortest run that the end of the list repeats; else each name once."""
    for length in range(1, len(names) // 2 + 1):
        if names[-length:] == names[-2 * length : -length]:
            return names[-length:]
    return list(dict.fromkeys(names))
