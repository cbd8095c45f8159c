"""The answer to a batch that does not end: which events set each other off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .frozen import freeze
from .limits import INTERNAL_EVENTS_MAX
from .refusal import Refusal, blame, refuse
from .step import Enqueued, Step

__all__ = ["overflow"]


def overflow(steps: Sequence[Step], queue: Iterable[Enqueued]) -> Refusal:
    """Refuse the batch, naming the events that repeat, and where they were taken."""
    hops = [
        (step.event.event, step.transition.source)
        for step in steps
        if step.kind == "internal"
    ]
    cycle = _cycle(hops)
    if cycle:
        said = " -> ".join(f"{event} (in {state})" for event, state in cycle)
        events = [event for event, _ in cycle]
        said = f"{said} -> {events[0]}"
    else:
        pending = [entry.kind for entry in queue]
        events = list(dict.fromkeys([event for event, _ in hops] + pending))
        said = ", ".join(events)
    refusal = refuse(
        "queue_overflow",
        f"more than {INTERNAL_EVENTS_MAX} internal events in one batch: {said}",
        details=freeze(
            {
                "cycle": events,
                "states": [state for _, state in cycle],
                "limit": INTERNAL_EVENTS_MAX,
            }
        ),
    )
    label = "what its internal events queued"
    return blame(refusal, event=steps[0].event.event, label=label, function=None)


def _cycle(hops: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The shortest run that the end of the list repeats, if there is one."""
    for length in range(1, len(hops) // 2 + 1):
        if hops[-length:] == hops[-2 * length : -length]:
            return hops[-length:]
    return []
