"""Validation: what is reported before a match starts.

That every diagnostic comes when it should, and in its order, is held by the recorded
cases in tests/conformance; here is what those cannot say.
"""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import (
    Game,
    InvalidGameError,
    InvalidMatchError,
    compile_graph,
    create_session,
    define_game,
    hostable,
    state,
    timeout,
    transition,
    validate,
    views,
)
from hotseat.engine.control import control_summary

MATCH = {"players": ["0", "1"]}


def game(**parts: Any) -> Game:
    whole = {
        "name": "small",
        "max_players": 2,
        "events": ["go"],
        "states": {
            "play": state(active_players=["0"]),
            "over": state(active_players=[]),
        },
        "initial": "play",
        "setup": lambda ctx: {"n": 0},
        "transitions": [transition("go", "play", "over")],
        **parts,
    }
    return define_game(**whole)


def codes(report: Any) -> list[tuple[str, str, str | None]]:
    return [(d.code, d.severity, d.state) for d in report.diagnostics]


def fails(ctx: Any) -> Any:
    raise LookupError("not yet")


def test_sound_game_has_nothing_to_report() -> None:
    """A good game gives an empty report, with a match and without."""
    assert validate(game()).diagnostics == ()
    assert validate(game(), MATCH).ok


def test_all_faults_are_reported_at_once() -> None:
    """One run finds everything, and creating a session carries it all."""
    broken = game(
        states={
            "play": state(active_players=["0", "0"], label=5),  # type: ignore[arg-type]
            "island": state(active_players=[]),
            "over": state(),
        }
    )
    with pytest.raises(InvalidGameError) as caught:
        create_session(broken, MATCH)
    assert codes(caught.value.report) == [
        ("unreachable_state", "error", "island"),
        ("active_players_duplicate", "error", "play"),
        ("invalid_label", "error", "play"),
        ("active_players_missing", "error", "over"),
    ]
    assert 'State "island" is unreachable' in str(caught.value)
    assert "and 3 more" in str(caught.value)


@pytest.mark.parametrize("part", ["active_players", "label", "control", "metadata"])
def test_failing_probe_matters_only_where_a_match_begins(part: str) -> None:
    """A derivation that raises is an error in the initial state, else a warning."""
    late: dict[str, Any] = {"active_players": [], part: fails}
    states = {"play": state(active_players=["0"]), "over": state(**late)}
    report = validate(game(states=states), MATCH)
    assert report.ok
    assert codes(report)[0] == ("state_derivation_failed", "warning", "over")
    early: dict[str, Any] = {"active_players": ["0"], part: fails}
    states = {"play": state(**early), "over": state(active_players=[])}
    report = validate(game(states=states), MATCH)
    assert not report.ok
    assert codes(report)[0] == ("state_derivation_failed", "error", "play")


def test_wrong_value_of_a_late_state_is_an_error() -> None:
    """What no snapshot can hold is wrong in every state."""
    late = state(active_players=[], control=lambda ctx: object())
    report = validate(
        game(states={"play": state(active_players=["0"]), "over": late}), MATCH
    )
    assert codes(report) == [("invalid_state_control", "error", "over")]


@pytest.mark.parametrize(
    "values",
    [{"active_players": lambda _: "01"}, {"metadata": "text"}, {"deadline": True}],
)
def test_value_of_the_wrong_kind_is_reported(values: dict[str, Any]) -> None:
    """A string is no list of seats, and no metadata; a boolean is no instant."""
    play = state(**{"active_players": ["0"], **values})
    report = validate(
        game(states={"play": play, "over": state(active_players=[])}), MATCH
    )
    assert not report.ok


def test_wrong_match_is_no_fault_of_the_game() -> None:
    """Validation with a match that cannot be is an error of the match."""
    with pytest.raises(InvalidMatchError):
        validate(game(), {"players": ["0", "9"]})


def test_report_tells_errors_from_warnings() -> None:
    """Only errors make a game unusable."""
    idle = {"play": state(active_players=[]), "over": state(active_players=["1"])}
    report = validate(game(states=idle), MATCH)
    assert report.ok
    assert report.errors == []
    assert [d.code for d in report.warnings] == [
        "suspicious_initial_activity",
        "suspicious_terminal_leaf",
    ]


def test_host_wants_views_or_open_information() -> None:
    """A game that would show all of G to spectators must say that it means it."""
    found = hostable(game())
    assert found is not None
    assert (found.code, found.severity) == ("no_views", "error")
    assert hostable(game(views=views())) is not None
    assert hostable(game(open_information=True)) is None
    assert hostable(game(views=views(public=lambda ctx: None))) is None
    assert hostable(game(views=views(player=lambda ctx, seat: None))) is not None


def nested() -> Game:
    return game(
        states={
            "top": state(),
            "play": state(parent="top", active_players=["0"], deadline=50),
            "over": state(
                active_players=[],
                label=lambda ctx: f"over at {ctx.now} in {ctx.position.name}",
            ),
        },
        transitions=[
            transition("go", "play", "play", label="stay"),
            timeout("top", "over", lambda ctx: None, turn="increment"),
        ],
    )


def test_graph_lists_states_and_edges() -> None:
    """The graph is in the order of declaration, and timeouts are in it."""
    graph = compile_graph(nested())
    assert graph.initial == "play"
    assert [(n.id, n.kind, n.parent, n.path) for n in graph.nodes] == [
        ("top", "compound", None, ("top",)),
        ("play", "leaf", "top", ("top", "play")),
        ("over", "leaf", None, ("over",)),
    ]
    assert [(e.event, e.source, e.target, e.resolver, e.turn) for e in graph.edges] == [
        ("go", "play", "play", "stay", "preserve"),
        ("__timeout", "top", "over", "resolver:inline", "increment"),
    ]


def test_control_summary_looks_ahead() -> None:
    """Who may act, and what the states that may follow would say."""
    session = create_session(nested(), MATCH, now=7)
    summary = control_summary(session.game, session.snapshot)
    assert summary.active_players == ["0"]
    assert summary.meta.deadline == 50
    ahead = [(t.name, t.path, t.label, t.deadline) for t in summary.pending_targets]
    assert ahead == [
        ("play", ("top", "play"), None, 50),
        ("over", ("over",), "over at 7 in over", None),
    ]


def test_metadata_and_label_may_be_nothing() -> None:
    """A function that has nothing to say returns None."""
    play = state(
        active_players=["0"], label=lambda ctx: None, metadata=lambda ctx: None
    )
    session = create_session(
        game(states={"play": play, "over": state(active_players=[])}), MATCH
    )
    meta = session.snapshot.derived.control_meta
    assert (meta.label, meta.metadata) == (None, [])


def test_control_summary_asks_again() -> None:
    """The words of now may depend on what derives; the snapshot's could not."""
    play = state(
        active_players=["0"], label=lambda ctx: f"{len(ctx.derived.active_players)}"
    )
    session = create_session(
        game(states={"play": play, "over": state(active_players=[])}), MATCH
    )
    assert session.snapshot.derived.control_meta.label == "0"
    assert control_summary(session.game, session.snapshot).meta.label == "1"
