"""Strict matching: all candidates of a node are asked, leaf before parent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import (
    Refusal,
    create_session,
    define_game,
    reject,
    state,
    transition,
)
from hotseat.engine.gamekit import stay
from hotseat.engine.redact import redact_refusal
from hotseat.engine.refusal import REFUSALS

from .samples import MATCH, accepted, ask, one_state, refused

VERDICTS = {
    "no": lambda ctx: None,
    "reject": lambda ctx: reject("because", {"drew": ctx.rng.d6()}),
    "match": lambda ctx: {"G": {"drew": ctx.rng.d100()}},
    "plain": None,
}


def family(leaf: list[str], root: list[str]) -> Any:
    """A game whose candidates answer as told, on a leaf and on its parent."""
    edges = [
        transition("go", place, "play", VERDICTS[verdict], label=f"{place} {n}")
        for place, verdicts in (("play", leaf), ("root", root))
        for n, verdict in enumerate(verdicts)
    ]
    return define_game(
        name="family",
        player_ids=["0", "1"],
        events=["go", "other"],
        states={
            "root": state(),
            "play": state(parent="root", active_players=["0", "1"]),
        },
        initial="play",
        setup=lambda ctx: {},
        transitions=[*edges, transition("other", "play", "play")],
    )


def expected(leaf: list[str], root: list[str]) -> tuple[str, str | None]:
    """The rules again, as dumb as can be: the code or the chosen label, and why."""
    reason = None
    for place, verdicts in (("play", leaf), ("root", root)):
        matches = [n for n, v in enumerate(verdicts) if v in ("match", "plain")]
        if len(matches) > 1:
            return "ambiguous_transition", None
        if matches:
            return f"{place} {matches[0]}", None
        if "reject" in verdicts:
            reason = "because"
    return "invalid_event", reason


SIDE = st.lists(st.sampled_from(["no", "reject", "match"]), max_size=4)
UNCONDITIONAL = st.lists(st.just("plain"), max_size=1)


@given(SIDE, UNCONDITIONAL, SIDE, UNCONDITIONAL)
def test_matching_follows_the_rules(
    leaf: list[str], leaf_plain: list[str], root: list[str], root_plain: list[str]
) -> None:
    """Whatever the candidates say, the outcome is that of the written rules."""
    leaf, root = leaf + leaf_plain, root + root_plain
    session = create_session(family(leaf, root), MATCH)
    answer = session.apply("0", "go", now=1)
    outcome, reason = expected(leaf, root)
    if " " in outcome:
        step = accepted(answer).steps[0]
        assert outcome == step.transition.resolver
        asked = {"play": leaf, "root": root}
        for evaluation in step.transition.evaluations:
            assert len(evaluation.candidates) == len(asked[evaluation.source])
    else:
        assert reason == refused(answer, outcome).reason


def test_candidates_draw_from_the_same_position_and_only_one_is_kept() -> None:
    """What a rejecting sibling drew is as if it had not been."""
    alone = create_session(family(["match"], []), MATCH)
    beside = create_session(family(["reject", "no", "match", "reject"], []), MATCH)
    drawn = [accepted(s.apply("0", "go", now=1)).snapshot for s in (alone, beside)]
    assert drawn[0].G == drawn[1].G
    assert drawn[0].meta.rng == drawn[1].meta.rng
    assert drawn[0].meta.rng.draws == 1


def test_every_candidate_is_asked_even_after_a_match() -> None:
    """So a sibling that raises breaks the action, wherever it stands."""

    def boom(ctx: Any) -> Any:
        raise ValueError

    game = define_game(
        name="boom",
        max_players=2,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: {},
        transitions=[
            transition("go", "play", "play"),
            transition("go", "play", "play", boom),
        ],
    )
    refused(create_session(game, MATCH).apply("0", "go", now=1), "resolver_error")


@pytest.mark.parametrize("details", [{1, 2}, float("nan")])
def test_a_rejection_whose_details_are_not_json_is_an_author_error(
    details: Any,
) -> None:
    """They would reach players and logs."""
    game = define_game(
        name="bad",
        max_players=2,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: {},
        transitions=[
            transition("go", "play", "play", lambda ctx: reject("x", details)),
        ],
    )
    refused(create_session(game, MATCH).apply("0", "go", now=1), "resolver_error")


@pytest.mark.parametrize(
    "answer",
    [
        (n for n in [1]),
        reject,
        int,
        {1},
        b"",
        object(),
        stay(),
    ],
)
def test_an_answer_that_can_only_be_a_mistake_is_told(answer: object) -> None:
    """A generator, a function that was not called, a class of one's own: no result."""
    fault = refused(ask(lambda ctx: answer), "resolver_error").fault
    assert fault is not None
    assert "a resolver returns a result" in fault.message
    assert type(answer).__name__ in fault.message


def test_a_failure_of_the_game_is_told_to_a_player_in_the_tables_words() -> None:
    """Names of branches and events that met are for the operator: they may tell G."""
    twice = [
        transition("go", "play", "play", lambda ctx: True, label=f"secret {name}")
        for name in "ab"
    ]
    endless = [transition("go", "play", "play", lambda ctx: {"enqueue": [GO]})]
    for edges, code in (
        (twice, "ambiguous_transition"),
        (endless, "queue_overflow"),
    ):
        session = create_session(one_state(transitions=edges), MATCH)
        refusal = refused(session.apply("0", "go", now=1), code)
        assert refusal.fault is not None
        assert refusal.fault.message == refusal.message
        assert refusal.fault.event == "go"
        assert redact_refusal(refusal) == Refusal(code, REFUSALS[code])


GO = {"kind": "go"}
