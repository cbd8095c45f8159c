"""What holds of every match whatever its game does: the engine's own promises.

`snapshot_faults` and `batch_faults` look at values. `Seals` finds what Python cannot
prevent: `dict.__setitem__(G, ...)` and its like reach behind the methods of a frozen
container, and change every snapshot that shares it. The engine does not look for this
while a match is played, since it would cost a walk of G per step; replicas and replays
find it, as their digests of the whole state differ. Here it is found at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import digest_of
from ..frozen import HEIGHTS, FDict, FList, freeze
from ..jsonvalue import Json
from ..machine import Machine
from ..snapshot import Snapshot
from ..step import Batch, Step

__all__ = ["Seals", "batch_faults", "is_frozen", "snapshot_faults"]


class Seals:
    """Remembers what snapshots held, and tells which no longer do."""

    def __init__(self) -> None:
        self._seals: list[tuple[Snapshot, bytes]] = []

    def add(self, snapshot: Snapshot) -> None:
        """Remember a snapshot as it is now."""
        self._seals.append((snapshot, _seal(snapshot)))

    def faults(self) -> Iterator[str]:
        """The snapshots that were changed in place since they were added."""
        for snapshot, seal in self._seals:
            if not _all_frozen(snapshot) or _seal(snapshot) != seal:
                yield (
                    f"the snapshot at revision {snapshot.revision} was changed in "
                    "place, behind the methods that refuse to; change ctx.draft()"
                )


def snapshot_faults(machine: Machine, snapshot: Snapshot) -> Iterator[str]:
    """What is wrong with a snapshot in itself."""
    position, meta = snapshot.position, snapshot.meta
    node = machine.nodes.get(position.name)
    if node is None or not node.is_leaf or node.path != position.path:
        yield f"the position {position} is no leaf of the game"
    if type(position.turn) is not int or position.turn < 1:
        yield f"the turn is {position.turn!r}"
    if type(snapshot.revision) is not int or snapshot.revision < 0:
        yield f"the revision is {snapshot.revision!r}"
    if not _all_frozen(snapshot):
        yield "something in it is not frozen"
    if not 0 <= meta.rng.state < 2**32 or meta.rng.draws < 0:
        yield f"the rng stands at {meta.rng}"
    if meta.rng.seed != meta.seed:
        yield "the rng is of another seed"
    for target in snapshot.derived.control_meta.pending_targets:
        if target not in machine.nodes:
            yield f"the pending target {target!r} is no state"


def batch_faults(machine: Machine, before: Snapshot, batch: Batch) -> Iterator[str]:
    """What is wrong with a batch that followed a snapshot."""
    if batch.snapshot is not batch.steps[-1].snapshot:
        yield "the batch does not end with its last step"
    queued = sum(len(step.transition.enqueued) for step in batch.steps)
    if queued != len(batch.steps) - 1:
        yield f"{queued} events were queued, {len(batch.steps) - 1} ran"
    for number, step in enumerate(batch.steps):
        if (step.kind == "internal") != (number > 0):
            yield f"step {number} is of kind {step.kind}"
        for fault in _step_faults(before, step):
            yield f"step {number}: {fault}"
        for fault in snapshot_faults(machine, step.snapshot):
            yield f"the snapshot of step {number}: {fault}"
        before = step.snapshot


def is_frozen(value: Json) -> bool:
    """Whether a value is as `freeze` makes it, all the way down."""
    if not isinstance(value, (FDict, FList)):
        return not isinstance(value, (dict, list)) and _is_stored(value)
    children = list(value.values() if isinstance(value, FDict) else value)
    if isinstance(value, FDict) and not all(map(_is_key, value)):
        return False
    if not all(map(is_frozen, children)):
        return False
    inside = max((HEIGHTS.get(type(child), 0) for child in children), default=0)
    return HEIGHTS.get(type(value)) == inside + 1


def _step_faults(before: Snapshot, step: Step) -> Iterator[str]:
    event, taken, after = step.event, step.transition, step.snapshot
    old, new = before.position, after.position
    if after.revision != before.revision + 1:
        yield f"revision {before.revision} is followed by {after.revision}"
    if new.turn != old.turn + (taken.turn == "increment"):
        yield f"turn {old.turn} is followed by {new.turn}, with {taken.turn!r}"
    if (taken.source, taken.source_path) != (old.name, old.path):
        yield f"it leaves {taken.source_path}, not {old.path}"
    if (taken.target, taken.target_path) != (new.name, new.path):
        yield f"it leads to {taken.target_path}, not {new.path}"
    if event.turn != old.turn or event.at != after.meta.now:
        yield "its event is of another turn or time"
    if after.meta.match["players"] != before.meta.match["players"]:
        yield "it changed who plays"
    yield from _rng_faults(before, step)
    yield from _evaluation_faults(step)


def _rng_faults(before: Snapshot, step: Step) -> Iterator[str]:
    trace, old, new = step.transition.rng, before.meta.rng, step.snapshot.meta.rng
    if trace is None:
        if new != old:
            yield f"the rng moved from {old} to {new} without a trace"
    elif (trace.before, trace.after, trace.draws) != (
        old.state,
        new.state,
        new.draws - old.draws,
    ):
        yield f"the trace {trace} does not lead from {old} to {new}"
    elif trace.draws < 1:
        yield f"the rng has {trace.draws} draws"


def _evaluation_faults(step: Step) -> Iterator[str]:
    *others, last = step.transition.evaluations
    if last.outcome != "selected" or last.source != step.transition.matched_from:
        yield "the last node that was asked is not the one that answered"
    if any(evaluation.outcome != "no_match" for evaluation in others):
        yield "a node was asked after one had answered"
    matched = [
        candidate
        for evaluation in step.transition.evaluations
        for candidate in evaluation.candidates
        if candidate.matched
    ]
    if [candidate.target for candidate in matched] != [step.transition.target]:
        yield f"{len(matched)} branches matched"
    if any(c.matched == (c.rejected_by is not None) for c in matched):
        yield "a branch both matched and did not"


def _all_frozen(snapshot: Snapshot) -> bool:
    meta, derived = snapshot.meta, snapshot.derived
    return all(
        map(
            is_frozen,
            (
                snapshot.G,
                meta.match,
                meta.now,
                meta.result,
                derived.active_players,
                derived.control,
                derived.control_meta.metadata,
                derived.selectors,
            ),
        )
    )


def _seal(snapshot: Snapshot) -> bytes:
    derived = snapshot.derived
    return digest_of(
        (snapshot.G, snapshot.meta.match, snapshot.meta.result, derived.selectors)
    )


def _is_key(key: object) -> bool:
    return type(key) is str and _is_stored(key)


def _is_stored(value: object) -> bool:
    """Whether freezing a scalar would change nothing."""
    try:
        kept = freeze(value)
    except ValueError:
        return False
    return type(kept) is type(value) and kept == value
