"""Alternatives of one decision: asked once, and all of them hear the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Refusal,
    Session,
    create_session,
    define_game,
    reject,
    state,
    transition,
)
from hotseat.engine.alternative import Alternative, Decided

MATCH = {"players": ["0", "1"]}


class Counted:
    """A decision that counts how often it is asked, and draws each time."""

    def __init__(self, answer: Callable[[Any], object]) -> None:
        self.asked = 0
        self.answer = answer

    def __call__(self, ctx: Any) -> object:
        self.asked += 1
        ctx.rng.next()
        return self.answer(ctx)


def played(decide: Callable[[Any], object], *more: Any) -> tuple[Session, Any]:
    """A match in which `go` was tried, and what was answered."""
    edges = [
        transition("go", place, target, Alternative(decide, frozenset(keys)), label=key)
        for place, target, key, keys in (
            ("leaf", "leaf", "stay", ["stay", "here"]),
            ("leaf", "end", "leave", ["leave"]),
            ("parent", "end", "up", ["up"]),
        )
    ]
    game = define_game(
        name="small",
        max_players=2,
        events=["go"],
        states={
            "leaf": state(active_players=["0"], parent="parent"),
            "parent": state(),
            "end": state(active_players=[]),
        },
        initial="leaf",
        setup=lambda ctx: {"n": 0},
        transitions=[*edges, *more],
    )
    session = create_session(game, MATCH)
    return session, session.apply("0", "go", "payload", now=1)


def told(evaluation: Any) -> list[tuple[str, bool, str | None]]:
    return [(c.resolver, c.matched, c.rejected_by) for c in evaluation.candidates]


@pytest.mark.parametrize(
    ("key", "taken", "target"),
    [("stay", "stay", "leaf"), ("here", "stay", "leaf"), ("leave", "leave", "end")],
)
def test_the_key_says_which_transition_is_taken(
    key: str, taken: str, target: str
) -> None:
    """With the answer that goes with it, and a trace of all candidates."""
    decide = Counted(lambda ctx: Decided(key, {"G": {"n": 1}}))
    session, answer = played(decide)
    assert isinstance(answer, Batch)
    assert decide.asked == 1
    (step,) = answer.steps
    assert (step.transition.resolver, step.transition.target) == (taken, target)
    assert told(step.transition.evaluations[0]) == [
        (name, name == taken, None if name == taken else "resolver")
        for name in ("stay", "leave")
    ]
    assert session.snapshot.G == {"n": 1}
    assert session.snapshot.meta.rng.draws == 1


def test_a_decision_is_asked_once_on_the_whole_path() -> None:
    """The parent hears what was said at the leaf."""
    decide = Counted(lambda ctx: Decided("up", {"result": "up"}))
    session, answer = played(decide)
    assert isinstance(answer, Batch)
    assert decide.asked == 1
    assert [e.source for e in answer.steps[0].transition.evaluations] == [
        "leaf",
        "parent",
    ]
    assert session.result == "up"


def test_other_candidates_are_asked_beside_it() -> None:
    """Each from the same position of the rng; two answers are an ambiguity."""
    drawn: list[float] = []

    def other(ctx: Any) -> object:
        drawn.append(ctx.rng.next())
        return {} if len(drawn) > 1 else None

    decide = Counted(lambda ctx: Decided("leave", {}))
    edge = transition("go", "leaf", "leaf", other, label="other")
    session, answer = played(decide, edge)
    assert isinstance(answer, Batch)
    assert decide.asked == 1
    assert told(answer.steps[0].transition.evaluations[0])[-1] == (
        "other",
        False,
        "resolver",
    )
    again = create_session(session.game, MATCH).apply("0", "go", now=1)
    assert isinstance(again, Refusal)
    assert again.code == "ambiguous_transition"
    assert drawn[0] == drawn[1]
    assert decide.asked == 2


@pytest.mark.parametrize("said", [None, False, Decided("nobody", {})])
def test_no_answer_is_no_match(said: object) -> None:
    """Nor is a key that nobody knows."""
    session, answer = played(Counted(lambda ctx: said))
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.reason) == ("invalid_event", None)
    assert session.snapshot.meta.rng.draws == 0


def test_a_rejection_is_everybodys() -> None:
    """Each candidate of the trace gives the reason."""
    _, answer = played(Counted(lambda ctx: reject("no", {"n": 1})))
    assert isinstance(answer, Refusal)
    assert (answer.reason, answer.details) == ("no", {"n": 1})
    assert [c.reason for e in answer.evaluations for c in e.candidates] == ["no"] * 3


def test_a_decision_that_raises_is_the_authors_fault() -> None:
    """With the line of the decision."""

    def broken(ctx: Any) -> object:
        raise LookupError("the author's mistake")

    _, answer = played(broken)
    assert isinstance(answer, Refusal)
    assert answer.code == "resolver_error"
    assert answer.fault is not None
    assert answer.fault.where is not None
    assert "test_alternative.py" in answer.fault.where


def test_an_alternative_answers_alone_as_well() -> None:
    """It is a resolver: what asks it alone gets what matching would."""
    one = Alternative(lambda ctx: Decided(ctx, {"G": 1}), frozenset("ab"))
    ask: Any = one
    assert ask("a") == {"G": 1}
    assert ask("c") is None
    no = reject("no")
    assert Alternative(lambda ctx: no, frozenset()).answer(no) is no
