"""What an operator learns of an author's failure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hotseat.engine import (
    Fault,
    ViewError,
    create_session,
    state,
    transition,
    views,
)
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.refusal import fault_from

from .samples import MATCH, ask, one_state, refused


def fault_of(resolve: Any, code: str = "resolver_error") -> Fault:
    """The fault of a resolver that fails."""
    fault = refused(ask(resolve), code).fault
    assert fault is not None
    return fault


def line_of(fault: Fault) -> int:
    """The line, which must be in this file."""
    assert fault.where is not None
    file, _, line = fault.where.rpartition(":")
    assert file == __file__
    return int(line)


def helper(value: object) -> None:
    raise ValueError(value)


def test_the_innermost_line_of_the_authors_is_named() -> None:
    """A helper that raises is where to look, not the resolver that called it."""
    fault = fault_of(lambda ctx: helper("deep"))
    assert line_of(fault) == helper.__code__.co_firstlineno + 1
    assert fault.source == "raise ValueError(value)"
    assert (fault.event, fault.label) == ("go", "resolver:inline")


def test_what_the_authors_line_calls_is_not_theirs() -> None:
    """An error inside the standard library or the engine is at the line that calls."""

    def decode(ctx: Any) -> object:
        return json.loads("{")

    def draw(ctx: Any) -> object:
        return ctx.rng.d6() + ctx.rng.dice(0, 6)

    def change(ctx: Any) -> object:
        ctx.G["x"] = 1
        return {}

    expected = [
        (decode, 'return json.loads("{")'),
        (draw, "return ctx.rng.d6() + ctx.rng.dice(0, 6)"),
        (change, 'ctx.G["x"] = 1'),
    ]
    for resolve, source in expected:
        fault = fault_of(resolve)
        assert fault.source == source
        assert line_of(fault) == resolve.__code__.co_firstlineno + 1


def test_the_engines_own_frames_are_left_out() -> None:
    """The traceback begins in the author's code, in the causes too."""

    def resolve(ctx: Any) -> object:
        try:
            ctx.G["x"] = 1
        except TypeError as error:
            raise LookupError("no") from error
        return {}

    trace = fault_of(resolve).traceback
    assert trace.count("in resolve") == 2
    assert "FrozenError" in trace
    assert "in _refuse_dict" not in trace
    assert "matching.py" not in trace


def test_the_shipped_games_are_author_code() -> None:
    """A failure inside a game that comes with the engine has its line too."""
    session = create_session(tic_tac_toe, MATCH)
    resolve = tic_tac_toe.transitions[0].resolve
    assert resolve is not None
    with pytest.raises(AttributeError) as caught:
        resolve(session)  # type: ignore[arg-type]
    fault = fault_from(caught.value, event="place", label="x", function=resolve)
    assert "test_fault.py" in (fault.where or "")
    assert "games/tic_tac_toe.py" in fault.traceback


def test_an_answer_that_is_no_result_names_its_resolver() -> None:
    """Nothing was raised; the resolver that answered is where to look."""

    def resolve(ctx: Any) -> object:
        return {"G": {"x": {1, 2}}}

    fault = fault_of(resolve, "invalid_transition_result")
    assert line_of(fault) == resolve.__code__.co_firstlineno
    assert fault.source == "def resolve(ctx: Any) -> object:"
    assert "$.x" in fault.message
    assert "resolver:resolve failed on go" in str(fault)


def test_a_draft_that_is_not_returned_names_its_resolver() -> None:
    """The engine raises; the line is where the resolver is defined."""

    def resolve(ctx: Any) -> object:
        ctx.draft()["x"] = 1
        return True

    assert line_of(fault_of(resolve)) == resolve.__code__.co_firstlineno


def test_a_derivation_names_its_line_too() -> None:
    """Whatever the author wrote, the fault leads to it."""
    game = one_state(
        lambda ctx: {"G": {"late": True}},
        states={"play": state(active_players=["0"], label=_late)},
    )
    session = create_session(game, MATCH)
    fault = refused(session.apply("0", "go", now=1), "derivation_error").fault
    assert fault is not None
    assert fault.label == "label of state play"
    assert line_of(fault) == helper.__code__.co_firstlineno + 1


def _late(ctx: Any) -> None:
    if ctx.G:
        helper("label")


def test_a_view_names_its_line() -> None:
    """The fault of a view is kept by its error."""
    game = one_state(
        lambda ctx: {},
        views=views(public=lambda ctx: helper("view") if ctx.now else 1),
    )
    session = create_session(game, MATCH)
    session.apply("0", "go", now=1)
    with pytest.raises(ViewError) as caught:
        session.public_view()
    assert line_of(caught.value.fault) == helper.__code__.co_firstlineno + 1


def test_code_without_a_file_is_no_trouble() -> None:
    """A line that cannot be read is named by its number alone."""
    scope: dict[str, Any] = {}
    exec("def resolve(ctx):\n    raise KeyError('k')", scope)
    fault = fault_of(scope["resolve"])
    assert fault.where == "<string>:2"
    assert fault.source is None


def test_deep_and_hostile_exceptions_are_bounded() -> None:
    """An exception cannot flood the log, nor break it."""

    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def recurse(ctx: Any) -> object:
        return recurse(ctx)

    def odd(ctx: Any) -> object:
        raise Odd

    def huge(ctx: Any) -> object:
        raise ValueError("x" * 100_000)

    for resolve in (recurse, odd, huge):
        fault = fault_of(resolve)
        assert len(str(fault)) < 2_000
        assert len(fault.traceback) <= 8_000
        assert fault.where is not None


def test_unmatched_actions_tell_who_was_asked() -> None:
    """Refusals carry evaluations for tools; they are no part of the value."""
    game = one_state(
        transitions=[
            transition("go", "play", "play", lambda ctx: None, label="a"),
            transition("go", "play", "play", lambda ctx: False, label="b"),
        ]
    )
    session = create_session(game, MATCH)
    refusal = refused(session.apply("0", "go", now=1), "invalid_event")
    (evaluation,) = refusal.evaluations
    assert [candidate.resolver for candidate in evaluation.candidates] == ["a", "b"]
    assert "evaluations" not in repr(refusal)
