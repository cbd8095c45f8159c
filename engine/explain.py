"""An answer of the engine in words, for terminals: who was asked, and what they said.

For each event it shows the branches that were asked, node by node from the leaf; which
one was taken, and why the others were not; and what came of it: the turn, the draws of
the rng, the events that were queued, the position and the result. Everything shown is
in the step itself; see `step.py`. It shows payloads, so it is for authors and
operators, never for seats.

    action roll by seat 0 at 10 in turn 3
      asked in play:
        * roll -> play: taken
        - winning roll -> over: no match
      rng: 1 draw
      turn 3 -> 4
      stays in play, revision 5
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from .jsonvalue import Json
from .refusal import Refusal
from .step import Batch, Candidate, Evaluation, Step

__all__ = ["explain"]

# Characters of a value, so that an event stays on one line.
_VALUE_CHARS_MAX = 100


def explain(answer: Step | Batch | Refusal) -> str:
    """Say in lines of text what happened, or why nothing did."""
    if isinstance(answer, Refusal):
        return "\n".join(_refusal(answer))
    steps = answer.steps if isinstance(answer, Batch) else (answer,)
    return "\n".join(line for step in steps for line in _step(step))


def _step(step: Step) -> Iterator[str]:
    event, taken, after = step.event, step.transition, step.snapshot
    name = "" if step.kind == "timeout" else f" {event.event}"
    by = "" if event.player_id is None else f" by seat {event.player_id}"
    yield f"{step.kind}{name}{by} at {event.at} in turn {event.turn}"
    if event.payload is not None:
        yield f"  payload: {_value(event.payload)}"
    taken_place = (taken.matched_from, taken.target, taken.resolver)
    for evaluation in taken.evaluations:
        yield from _evaluation(evaluation, taken_place)
    if taken.rng is not None:
        draws = taken.rng.draws
        yield f"  rng: {draws} draw{'s' if draws > 1 else ''}"
    for entry in taken.enqueued:
        payload = "" if entry.payload is None else f" {_value(entry.payload)}"
        yield f"  queued: {entry.kind}{payload}"
    if taken.profile is not None:
        yield f"  profiles: {_value(taken.profile)}"
    if taken.turn == "increment":
        yield f"  turn {event.turn} -> {after.position.turn}"
    elif taken.turn != "preserve":
        yield f"  turn {event.turn}, as {_value(taken.turn)} means nothing"
    yield f"  {_place(taken.source_path, taken.target_path)}, revision {after.revision}"
    if after.meta.result is not None:
        yield f"  result: {_value(after.meta.result)}"


def _place(source: tuple[str, ...], target: tuple[str, ...]) -> str:
    if source == target:
        return f"stays in {'/'.join(target)}"
    return f"{'/'.join(source)} -> {'/'.join(target)}"


def _refusal(refusal: Refusal) -> Iterator[str]:
    yield f"refused: {refusal.code}: {refusal.message}"
    if refusal.reason is not None:
        yield f"  reason: {_words(refusal.reason)}"
    if refusal.details is not None:
        yield f"  details: {_value(refusal.details)}"
    for evaluation in refusal.evaluations:
        yield from _evaluation(evaluation, None)
    if refusal.fault is not None:
        yield from (f"  {line}" for line in str(refusal.fault).splitlines())


def _evaluation(
    evaluation: Evaluation, taken: tuple[str, str, str | None] | None
) -> Iterator[str]:
    yield f"  asked in {evaluation.source}:"
    for candidate in evaluation.candidates:
        place = (candidate.source, candidate.target, candidate.resolver)
        mark = "*" if candidate.matched and place == taken else "-"
        name = candidate.resolver or "unconditional"
        answer = _answer(candidate, chosen=mark == "*")
        yield f"    {mark} {name} -> {candidate.target}: {answer}"


def _answer(candidate: Candidate, *, chosen: bool) -> str:
    if candidate.matched:
        return "taken" if chosen else "matched"
    if candidate.rejected_by == "resolver":
        return "no match"
    said = "rejected"
    if candidate.reason is not None:
        said = f"rejected, {_words(candidate.reason)}"
    if candidate.details is None:
        return said
    return f"{said}: {_value(candidate.details)}"


def _words(text: str) -> str:
    return text if text.isprintable() else _value(text)


def _value(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if not text.isprintable():  # a terminal obeys some characters
        text = json.dumps(value)
    if len(text) > _VALUE_CHARS_MAX:
        return text[: _VALUE_CHARS_MAX - 3] + "..."
    return text
