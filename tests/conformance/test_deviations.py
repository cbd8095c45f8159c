"""The deliberate differences from the reference: each new behaviour, and the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import gamekit
from hotseat.engine.definition import (
    Game,
    State,
    Transition,
    Views,
    define_game,
    enqueue,
    state,
    timeout,
    transition,
    views,
)
from hotseat.engine.errors import InvalidGameError, InvalidMatchError
from hotseat.engine.gamekit import MoveContext
from hotseat.engine.playback import verify_records
from hotseat.engine.profile_delta import apply_profile_delta
from hotseat.engine.profile_draft import draft_profile
from hotseat.engine.record import RecordKind
from hotseat.engine.refusal import Refusal
from hotseat.engine.replay import (
    Cursor,
    Timeline,
    materialize,
    read_envelope,
    save_session,
    write_envelope,
)
from hotseat.engine.session import Session, create_session
from hotseat.engine.step import Batch
from hotseat.engine.validate import validate

from .check_core import check
from .deviations import DEVIATIONS
from .outcome import Outcome

MATCH = {"players": ["0", "1"]}


def small_game(
    *transitions: Transition,
    events: tuple[str, ...] = ("go",),
    states: dict[str, State] | None = None,
    views: Views | None = None,
    setup: Callable[[Any], Any] = lambda ctx: {"n": 0},
) -> Game:
    return define_game(
        name="small",
        max_players=2,
        events=events,
        states=states or {"play": state(active_players=["0", "1"], deadline=100)},
        initial="play",
        setup=setup,
        transitions=transitions or [transition("go", "play", "play")],
        views=views,
    )


def fails(ctx: Any) -> Any:
    raise LookupError("the author's mistake")


def refused(session: Session, event: str, payload: object = None) -> str:
    """The code of the refusal, after a look that nothing changed."""
    before, digest = session.snapshot, session.digest
    answer = session.apply("0", event, payload, now=5)
    assert isinstance(answer, Refusal)
    assert session.snapshot is before
    assert session.digest == digest
    return answer.code


def test_endless_queue_overflows() -> None:
    """A game that queues events for ever is stopped, and its batch undone."""
    endless = transition("go", "play", "play", lambda ctx: {"enqueue": [enqueue("go")]})
    assert refused(create_session(small_game(endless), MATCH), "go") == "queue_overflow"


def test_a_thousand_internal_events_are_allowed() -> None:
    """The bound itself is inside: 1,000 internal events after an action."""

    def count_down(ctx: Any) -> Any:
        left = ctx.event.payload
        return {"enqueue": [enqueue("go", left - 1)] if left else []}

    session = create_session(
        small_game(transition("go", "play", "play", count_down)), MATCH
    )
    assert refused(session, "go", 1_001) == "queue_overflow"
    assert not isinstance(session.apply("0", "go", 1_000, now=1), Refusal)
    assert session.revision == 1_001


@pytest.mark.parametrize("name", ["__timeout", "__gamekit_phase_outcome"])
def test_players_cannot_dispatch_internal_names(name: str) -> None:
    """An internal name is unknown to players, even when the author declares it."""
    game = small_game(transition(name, "play", "play"), events=(name,))
    assert refused(create_session(game, MATCH), name) == "unknown_event"


@pytest.mark.parametrize(
    ("players", "code"),
    [
        ([], "too_few_players"),
        (["0"], "too_few_players"),
        (["0", "0"], "duplicate_player"),
        (["0", "7"], "unknown_player"),
        ("01", "invalid_match"),
        ([0, 1], "unknown_player"),
    ],
)
def test_wrong_players_are_an_error_at_creation(players: object, code: str) -> None:
    """A match whose seats are wrong never starts, and the error says why."""
    with pytest.raises(InvalidMatchError) as caught:
        create_session(small_game(), {"players": players})
    assert caught.value.code == code


def test_seat_sees_the_public_view_when_it_has_no_own() -> None:
    """With only a public view, no seat ever sees G."""
    game = small_game(
        setup=lambda ctx: {"n": 0, "secret": 42},
        views=views(public=lambda ctx: {"n": ctx.G["n"]}),
    )
    assert create_session(game, MATCH).player_view("0") == {"n": 0}


@pytest.mark.parametrize("value", [2**53, -(2**53), {"a": ["\ud800"]}, {"\udfff": 1}])
def test_values_beyond_i_json_are_refused(value: object) -> None:
    """What another language could not hold is refused as payload and as state."""
    copying = transition("go", "play", "play", lambda ctx: {"G": ctx.event.payload})
    storing = transition("stay", "play", "play", lambda ctx: {"G": value})
    game = small_game(copying, storing, events=("go", "stay"))
    session = create_session(game, MATCH)
    assert refused(session, "go", value) == "non_serializable_args"
    assert refused(session, "stay") == "invalid_transition_result"
    with pytest.raises(InvalidGameError):
        create_session(small_game(setup=lambda ctx: value), MATCH)


def test_author_exceptions_are_refusals() -> None:
    """A resolver or a derivation that raises refuses the action, nothing more."""
    late = state(active_players=["0"], label=fails)
    states = {"play": state(active_players=["0"], deadline=100), "late": late}
    game = small_game(
        transition("go", "play", "play", fails),
        transition("leave", "play", "late"),
        timeout("play", "play", fails),
        events=("go", "leave"),
        states=states,
    )
    session = create_session(game, MATCH)
    assert refused(session, "go") == "resolver_error"
    assert refused(session, "leave") == "derivation_error"
    before = session.snapshot
    alarm = session.fire_timeout(100)
    assert isinstance(alarm, Refusal)
    assert alarm.code == "resolver_error"
    assert alarm.fault is not None
    assert "the author's mistake" in alarm.fault.traceback
    assert session.snapshot is before


def test_failing_probe_of_a_late_state_is_a_warning() -> None:
    """A state that cannot be derived at the start of a match may be fine later."""
    states = {
        "play": state(active_players=["0"]),
        "won": state(active_players=[], label=lambda ctx: ctx.G["winner"]),
    }
    win = transition("go", "play", "won", lambda ctx: {"G": {"winner": "0"}})
    game = small_game(win, states=states)
    report = validate(game, MATCH)
    assert report.ok
    found = [(d.code, d.severity, d.state) for d in report.diagnostics]
    assert ("state_derivation_failed", "warning", "won") in found
    session = create_session(game, MATCH)
    assert not isinstance(session.apply("0", "go", now=1), Refusal)
    assert session.snapshot.derived.control_meta.label == "0"


def test_deep_payload_is_refused() -> None:
    """Nesting is bounded in the engine itself."""
    deep: Any = None
    for _ in range(20_000):
        deep = [deep]
    assert refused(create_session(small_game(), MATCH), "go", deep) == "too_deep"


# --- the table, on recordings such as other files may hold -------------------------


def recorded(
    steps: list[dict[str, Any]], create: dict[str, Any] | None = None, **game: Any
) -> Outcome:
    """The outcome of a case whose game is small, as the reference recorded it."""
    spec = {
        "playerIDs": ["0", "1"],
        "events": ["go"],
        "initial": "play",
        "setup": None,
        "states": {"play": {"activePlayers": ["0", "1"]}},
        "transitions": [{"event": "go", "from": "play", "to": "play"}],
        **game,
    }
    case: dict[str, Any] = {"id": "case", "game": spec, "steps": steps}
    case["session"] = {"match": MATCH}
    if create is not None:
        case["create"] = create
    (outcome,) = check({"cases": [case]})
    return outcome


def applied(event: str, expect: Any, after: Any = "$unchanged", **more: Any) -> Any:
    step = {"op": "apply", "player": "0", "event": event, "at": 1, **more}
    return {**step, "expect": expect, "after": after}


ANYTHING: dict[str, Any] = {"ok": True, "steps": [{"snapshot": "$after"}]}


def test_move_body_runs_once() -> None:
    """A move of many possible outcomes runs its body once; the trace tells them all."""
    bodies: list[str] = []

    def roll(ctx: MoveContext) -> gamekit.Outcome:
        bodies.append(ctx.phase)
        die = ctx.rng.d6()
        return gamekit.goto("rest", {"n": die}, end_turn=True)

    game = gamekit.define_game(
        name="small",
        max_players=2,
        setup=lambda ctx: {"n": 0},
        moves=[roll],
        phases={"play": gamekit.phase(), "rest": gamekit.phase()},
    )
    session = create_session(game, MATCH)
    batch = session.apply("0", "roll", now=1)
    assert isinstance(batch, Batch), batch
    assert bodies == ["play"]
    (taken,) = [step.transition for step in batch.steps]
    assert taken.resolver == "roll:play:goto:rest:end_turn"
    assert len(taken.evaluations[0].candidates) == 5
    assert taken.rng is not None
    assert taken.rng.draws == 1


def test_table_names_tests_that_exist() -> None:
    """Every deviation points to a test of its new behaviour in this file."""
    for deviation in DEVIATIONS:
        path, _, test = deviation.test.partition("::")
        assert path.endswith("test_deviations.py")
        assert callable(globals()[test])
        assert deviation.reason


def test_table_knows_an_overflow() -> None:
    """A recording of more internal events than the bound demands an overflow."""
    expect = {"ok": True, "steps": [{"snapshot": "$after"}] * 1_002}
    endless = [{"return": {"enqueue": [{"kind": "go"}]}}]
    edge = {"event": "go", "from": "play", "to": "play", "resolve": endless}
    outcome = recorded([applied("go", expect, {})], transitions=[edge])
    assert outcome.status == "passed", outcome.text


def test_table_knows_an_internal_name() -> None:
    """A recording of a forged timeout demands its refusal."""
    edge = {"event": "__timeout", "from": "play", "to": "play"}
    steps = [applied("__timeout", ANYTHING, {}), applied("go", ANYTHING, {})]
    outcome = recorded(steps, events=["__timeout"], transitions=[edge])
    assert outcome.status == "passed", outcome.text


def test_table_knows_a_public_view_only() -> None:
    """A recording that shows G to a seat demands the public view instead."""
    step: dict[str, Any] = {"op": "player_view", "player": "0"}
    step.update(expect={"value": None}, after="$unchanged")
    outcome = recorded([step], views={"public": {"shown": True}})
    assert outcome.status == "passed", outcome.text


def test_table_knows_what_is_not_i_json() -> None:
    """A recording of a huge integer demands its refusal, as payload and in G."""
    big = 2**53 + 2
    payload = applied("go", ANYTHING, {}, payload=big)
    assert recorded([payload]).status == "passed"
    resolve = [{"return": {"G": big}}]
    edge = {"event": "go", "from": "play", "to": "play", "resolve": resolve}
    stored = recorded([applied("go", ANYTHING, {"G": big})], transitions=[edge])
    assert stored.status == "passed", stored.text
    created = recorded([], create={"ok": True, "state": {"G": big}}, setup=big)
    assert created.status == "passed", created.text


def test_table_knows_a_failing_probe() -> None:
    """A recording of a late state's failing probe demands a warning."""
    states = {
        "play": {"activePlayers": ["0"]},
        "late": {"activePlayers": [], "label": {"$throw": "too early"}},
    }
    edge = {"event": "go", "from": "play", "to": "late"}
    message = 'State "late" failed during validation: too early'
    outcome = recorded(
        [],
        create={"throws": {"name": "InvalidGameDefinitionError", "message": message}},
        states=states,
        transitions=[edge],
    )
    assert outcome.status == "passed", outcome.text


def test_demands_can_fail() -> None:
    """A deviation is asserted, not ignored: doing as the reference does fails."""
    expect = {"ok": True, "steps": [{"snapshot": "$after"}] * 1_002}
    outcome = recorded([applied("go", expect, {})])
    assert outcome.status == "failed"
    assert "demanded refused with queue_overflow" in outcome.text


def test_drafts_record_what_they_do() -> None:
    """A list that a recipe assigns and then grows ends up as the draft showed it."""
    seen: list[Any] = []

    def recipe(draft: Any) -> None:
        draft["log"] = []
        draft["log"].append(1)
        seen.append(list(draft["log"]))

    delta = draft_profile({"wins": 0}, recipe)
    assert apply_profile_delta({"wins": 0}, delta)["log"] == seen[0] == [1]
    assert [op["op"] for op in delta] == ["set", "push"]
    assert delta[0]["value"] == []


# --- replays ------------------------------------------------------------------------


def reopened(session: Session, **more: Any) -> Timeline:
    """The match of a session after a trip through the text of an envelope."""
    text = write_envelope(save_session(session, **more))
    return materialize(session.machine, read_envelope(text))


def test_envelopes_keep_profiles() -> None:
    """A match with stored profiles replays to what it was, not to fresh profiles."""

    def read(ctx: Any) -> Any:
        return {"G": {"n": ctx.match["profiles"]["0"]["wins"]}}

    game = small_game(transition("go", "play", "play", read))
    match = {**MATCH, "profiles": {"0": {"wins": 40}, "1": {"wins": 2}}}
    session = create_session(game, match)
    session.apply("0", "go", now=1)
    assert reopened(session).frame(1).snapshot == session.snapshot
    assert session.snapshot.G == {"n": 40}


def test_an_envelope_may_have_an_empty_seed() -> None:
    """What can be played and written with an empty seed can be read again."""
    session = create_session(small_game(), MATCH, seed="")
    assert reopened(session).frame(0).snapshot == session.snapshot


def test_frames_of_a_batch_have_their_own_views() -> None:
    """In the middle of a batch, a seat's view is of the middle, not of the end."""

    def twice(ctx: Any) -> Any:
        more = [enqueue("go")] if ctx.G["n"] == 0 else []
        return {"G": {"n": ctx.G["n"] + 1}, "enqueue": more}

    own = views(player=lambda ctx, seat: {"seen": ctx.G["n"]})
    session = create_session(
        small_game(transition("go", "play", "play", twice), views=own), MATCH
    )
    session.apply("0", "go", now=1)
    timeline = reopened(session, player_id="1")
    seen = [timeline.player_view(frame) for frame in timeline.frames()]
    assert seen == [{"seen": 0}, {"seen": 1}, {"seen": 2}]


def test_timeouts_replay_exactly() -> None:
    """A deadline that fired is in the log as such, replays, and can be sought."""
    late = timeout(
        "play", "play", lambda ctx: {"G": {"n": ctx.rng.d6(), "at": ctx.now}}
    )
    session = create_session(small_game(transition("go", "play", "play"), late), MATCH)
    assert session.fire_timeout(130) is not None
    session.apply("0", "go", now=140)
    assert session.log[1].kind is RecordKind.TIMEOUT
    timeline = reopened(session)
    assert timeline.frame(timeline.head).snapshot == session.snapshot
    assert timeline.frame(1).step == session_step(session)
    assert Cursor(timeline).seek_action("m_1").revision == 1


def session_step(session: Session) -> Any:
    """The step of the second record, played again."""
    records = list(verify_records(session.machine, session.log))
    assert records[1].batch is not None
    return records[1].batch.steps[0]
