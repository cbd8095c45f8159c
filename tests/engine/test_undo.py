"""Takebacks: what they restore, what they refuse, and how their logs play back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hotseat.engine import (
    Batch,
    DefinitionError,
    DigestMismatchError,
    Game,
    GameBuilder,
    Refusal,
    ReplayError,
    Session,
    Snapshot,
    create_session,
    define_game,
    enqueue,
    event,
    freeze,
    gamekit,
    profile,
    redact_step,
    replay_log,
    session_from_snapshot,
    state,
    timeout,
    transition,
    undo,
    views,
)
from hotseat.engine.games import tic_tac_toe
from hotseat.engine.machine import compile_game
from hotseat.engine.playback import verify_records
from hotseat.engine.replay import (
    Branches,
    Cursor,
    compare_log,
    materialize,
    open_timeline,
    read_log_file,
    save_session,
    verify_log,
    write_log_file,
)
from hotseat.engine.replay.timeline import MARK_EVERY

SEATS = ["a", "b", "c"]
MATCH = {"players": SEATS}
SPAN_MS = 1_000


RUNS: list[int] = []  # what the resolver below was asked


def _add(ctx: Any) -> Any:
    RUNS.append(ctx.event.payload)
    log = [*ctx.G["log"], ctx.event.payload]
    queued = [enqueue("echo")] if ctx.event.payload == 0 else []
    return {"G": {**ctx.G, "log": log, "at": ctx.now}, "enqueue": queued}


def _roll(ctx: Any) -> Any:
    return {"G": {**ctx.G, "log": [*ctx.G["log"], ctx.rng.d6()], "at": ctx.now}}


def _finish(ctx: Any) -> Any:
    return {"result": {"log": ctx.G["log"]}}


def game(**rule: Any) -> Game:
    """Everybody adds numbers to a list; a deadline moves on when nobody does."""
    return define_game(
        name="numbers",
        player_ids=SEATS,
        events={
            "add": event(int),
            "roll": event(),
            "peek": event(),
            "end": event(),
            "echo": event(),
        },
        initial="play",
        setup=lambda ctx: {"log": [], "at": ctx.now},
        states={
            "play": state(
                active_players=SEATS, deadline=lambda ctx: ctx.G["at"] + SPAN_MS
            ),
            "rest": state(active_players=SEATS),
        },
        transitions=[
            transition("add", "play", "play", _add, turn="increment"),
            transition("echo", "play", "play", turn="increment"),
            transition("add", "rest", "rest", _add, turn="increment"),
            transition("echo", "rest", "rest", turn="increment"),
            transition("roll", "play", "play", _roll),
            transition("roll", "rest", "rest", _roll),
            transition("peek", "play", "play"),
            transition("end", "play", "rest", _finish),
            timeout("play", "rest", turn="increment"),
        ],
        views=views(public=lambda ctx: ctx.G),
        undo=undo(**rule) if rule else None,
    )


def played(session: Session, *moves: tuple[str, Any], now: int = 1) -> None:
    for seat, payload in moves:
        assert isinstance(session.apply(seat, "add", payload, now=now), Batch)


def code(answer: object) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def same_but_revision(one: Snapshot, other: Snapshot) -> bool:
    return replace(one, revision=0) == replace(other, revision=0)


def test_a_takeback_restores_the_revision_it_names_under_a_new_one() -> None:
    """Everything is as it was at that revision; the revision itself goes on."""
    session = create_session(game(agree="nobody", back=3), MATCH)
    played(session, ("a", 1))
    kept = session.snapshot
    played(session, ("b", 2), ("a", 0))
    batch = session.undo("b", now=5)
    assert isinstance(batch, Batch)
    assert same_but_revision(session.snapshot, kept)
    assert session.revision == 5
    assert session.next_deadline == 1 + SPAN_MS
    record = session.log[-1]
    assert (record.kind, record.input["to"], record.revision_after) == (
        "takeback",
        1,
        5,
    )


def test_all_opponents_must_agree_before_anything_goes_back() -> None:
    """Asked, agreed, done: three records, and the state moves with the last alone."""
    session = create_session(game(back=1), MATCH)
    first = session.snapshot
    played(session, ("a", 1))
    for answer in (
        session.undo("a", now=2),
        session.answer_undo("b", True, now=3),
    ):
        assert isinstance(answer, Batch)
        assert session.snapshot.G["log"] == [1]
    assert session.undo_request is not None
    assert session.undo_request.agreed == ("b",)
    assert code(session.answer_undo("b", True, now=3)) == "no_undo_request"
    assert code(session.answer_undo("a", True, now=3)) == "no_undo_request"
    assert isinstance(session.answer_undo("c", True, now=4), Batch)
    assert same_but_revision(session.snapshot, first)
    assert session.undo_request is None
    phases = [r.input["phase"] for r in session.log if r.kind == "takeback"]
    assert phases == ["asked", "agreed", "done"]


def test_an_accepted_action_voids_a_request() -> None:
    """Who agrees after somebody has moved on agrees to nothing."""
    session = create_session(game(back=2), MATCH)
    played(session, ("a", 1))
    session.undo("a", now=2)
    played(session, ("b", 2))
    assert session.undo_request is None
    assert code(session.answer_undo("b", True, now=3)) == "no_undo_request"
    assert session.snapshot.G["log"] == [1, 2]


def test_a_deadline_that_fires_voids_a_request() -> None:
    """A timeout is a change of the match like an action."""
    session = create_session(game(back=2), MATCH)
    played(session, ("a", 1))
    session.undo("a", now=2)
    assert isinstance(session.fire_timeout(now=2 * SPAN_MS), Batch)
    assert session.undo_request is None


def test_who_was_declined_asks_again_only_after_the_next_action() -> None:
    """Nobody can be asked without end, nor the log filled with asking."""
    session = create_session(game(back=3), MATCH)
    played(session, ("a", 1), ("b", 2))
    session.undo("a", now=2)
    assert code(session.undo("b", now=2)) == "undo_pending"
    assert isinstance(session.answer_undo("c", False, now=2), Batch)
    assert code(session.undo("a", now=2)) == "undo_declined"
    assert isinstance(session.undo("b", now=2), Batch)
    assert isinstance(session.answer_undo("b", False, now=2), Batch)  # withdrawn
    assert code(session.undo("b", now=2)) == "undo_declined"
    played(session, ("c", 3), now=3)
    assert isinstance(session.undo("a", now=4), Batch)


def test_what_may_not_be_taken_back_is_refused_with_its_reason() -> None:
    """Each rule of the declaration has its own code, and a refusal changes nothing."""
    session = create_session(game(agree="nobody", back=2, reveals=["peek"]), MATCH)
    assert code(session.undo("a", now=0)) == "nothing_to_undo"
    assert code(session.undo("x", now=0)) == "unknown_player"
    played(session, ("a", 1))
    assert code(session.undo("b", now=2)) == "nothing_to_undo"
    assert code(session.undo("b", 0, now=2)) == "undo_not_allowed"
    assert code(session.undo("a", 7, now=2)) == "nothing_to_undo"
    assert code(session.undo("a", now=SPAN_MS)) == "undo_past_deadline"
    session.apply("b", "roll", now=2)
    assert code(session.undo("a", now=3)) == "undo_past_random"
    session.apply("b", "peek", now=4)
    session.apply("a", "add", 2, now=4)
    assert code(session.undo("b", now=5)) == "undo_past_reveal"
    session.apply("c", "end", now=6)
    before = session.snapshot
    assert code(session.undo("c", now=7)) == "game_over"
    assert session.snapshot is before
    assert code(create_session(game(), MATCH).undo("a", now=0)) == "undo_not_allowed"


def test_a_game_may_take_back_chance_and_what_was_seen() -> None:
    """With past_random the rng stands where it stood: the same draw comes again."""
    rule = {"ask": "anyone", "agree": "nobody", "past_random": True}
    session = create_session(game(**rule, back=4, reveals=["peek"]), MATCH)
    session.apply("a", "roll", now=1)
    first = session.snapshot
    session.apply("b", "peek", now=1)
    assert isinstance(session.undo("c", 0, now=1), Batch)
    assert session.snapshot.meta.rng.draws == 0
    session.apply("a", "roll", now=1)
    assert same_but_revision(session.snapshot, first)


def test_what_profiles_were_given_stays_given() -> None:
    """A profile outlives the match; not even past_random takes back a change of it."""
    wins = {"a": [{"op": "set", "path": ["wins"], "value": 1}]}
    scored = define_game(
        name="scored",
        player_ids=["a"],
        events=["score"],
        initial="play",
        setup=lambda ctx: {},
        states={"play": state(active_players=["a"])},
        transitions=[
            transition("score", "play", "play", lambda ctx: {"profile": wins})
        ],
        profile=profile({"wins": 0}),
        undo=undo(past_random=True),
    )
    session = create_session(scored, {"players": ["a"]})
    assert isinstance(session.apply("a", "score", now=1), Batch)
    assert code(session.undo("a", now=2)) == "undo_past_profile"


def test_a_games_own_redaction_is_not_asked_about_takebacks() -> None:
    """Their steps hold nothing of the game's, and it knows nothing of them."""

    def refuses(step: Any, seat: Any) -> Any:
        raise KeyError(step.event.event)

    mine = define_game(
        name="mine",
        player_ids=["a"],
        events=["go"],
        initial="play",
        setup=lambda ctx: {},
        states={"play": state(active_players=["a"])},
        transitions=[transition("go", "play", "play")],
        redact=refuses,
        undo=undo(),
    )
    session = create_session(mine, {"players": ["a"]})
    session.apply("a", "go", now=1)
    batch = session.undo("a", now=1)  # nobody else sits there to agree
    assert isinstance(batch, Batch)
    assert redact_step(mine, batch.steps[0], None)["kind"] == "takeback"


def test_no_more_than_the_declared_number_can_be_taken_back() -> None:
    """`back` counts actions of the line that stands, also after a takeback."""
    rule = {"ask": "anyone", "agree": "nobody"}
    session = create_session(game(**rule, back=2), MATCH)
    played(session, ("a", 1), ("b", 2), ("c", 3))
    assert code(session.undo("a", 0, now=2)) == "nothing_to_undo"
    assert isinstance(session.undo("a", now=2), Batch)
    assert isinstance(session.undo("a", now=2), Batch)
    assert code(session.undo("a", now=2)) == "nothing_to_undo"
    assert session.snapshot.G["log"] == [1]


def test_a_takeback_is_seen_by_all_but_the_payloads_it_undid_are_not() -> None:
    """Its step says who, what and whereto, even to a spectator."""
    session = create_session(game(agree="nobody"), MATCH)
    played(session, ("a", 1))
    batch = session.undo("a", now=2)
    assert isinstance(batch, Batch)
    shown = redact_step(session.game, batch.steps[0], None)
    assert shown["kind"] == "takeback"
    assert shown["event"]["player_id"] == "a"
    assert shown["event"]["payload"] == {"phase": "done", "to": 0}


def test_what_was_taken_back_stays_in_the_replay_as_a_branch() -> None:
    """Each revision has its frame; the line that was left has a branch of its own."""
    session = create_session(game(agree="nobody", back=3), MATCH)
    played(session, ("a", 1), ("b", 2))
    session.undo("b", now=2)
    played(session, ("c", 9), now=3)
    timeline = open_timeline(session.game, session.log)
    logs = [frame.snapshot.G["log"] for frame in timeline.frames()]
    assert logs == [[], [1], [1, 2], [1], [1, 9]]
    assert timeline.first_of_turn(3) == 2
    branches = Branches(timeline)
    assert [branch.branch_id for branch in branches] == ["main", "taken-back-1"]
    cursor = Cursor(branches)
    cursor.seek_revision(4)
    cursor.set_branch("taken-back-1")
    assert cursor.frame.snapshot.G["log"] == [1, 2]
    assert cursor.redo().revision == 2


def test_an_envelope_holds_the_line_that_stands() -> None:
    """The exchange format knows no takebacks; played, it ends in the same state."""
    session = create_session(game(agree="nobody", back=3), MATCH)
    played(session, ("a", 1), ("b", 0), ("c", 3))
    session.undo("b", now=2)
    played(session, ("c", 9), now=3)
    saved = save_session(session)
    assert [action.payload for action in saved.actions] == [1, 9]
    last = materialize(session.game, saved)
    assert last.frame(last.head).snapshot.G == session.snapshot.G


def test_a_replay_compares_what_a_takeback_says_it_did() -> None:
    """A forged target or phase is named, not played."""
    session = create_session(game(agree="nobody"), MATCH)
    played(session, ("a", 1))
    session.undo("a", now=2)
    *before, last = session.log
    for changed in ({"to": 1}, {"phase": "asked"}, {"revision": 1}, {"verb": "agree"}):
        forged = replace(last, input=freeze({**last.input, **changed}))
        with pytest.raises((ReplayError, DigestMismatchError)):
            replay_log(session.game, [*before, forged])


def test_a_session_from_a_snapshot_takes_back_what_was_played_since() -> None:
    """Its log still plays back from the start."""
    session = create_session(game(agree="nobody", back=5), MATCH)
    played(session, ("a", 1))
    later = session_from_snapshot(session.game, session.snapshot, session.log)
    assert code(later.undo("a", now=2)) == "nothing_to_undo"
    played(later, ("a", 2))
    assert isinstance(later.undo("a", now=2), Batch)
    assert replay_log(session.game, later.log).snapshot == later.snapshot


def test_builders_and_gamekit_pass_the_rule_on() -> None:
    """`undo` means the same wherever a game is written."""
    rule = undo(back=2)
    core = GameBuilder("x", max_players=1, undo=rule)
    core.state("play", active_players=[])
    core.setup(lambda ctx: {})
    assert core.build().undo is rule
    kit = gamekit.define_game(
        name="x",
        max_players=1,
        setup=lambda ctx: {},
        moves={"go": lambda ctx: gamekit.stay()},
        undo=rule,
    )
    assert kit.undo is rule
    assert tic_tac_toe.game.undo is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"ask": "me"},
        {"agree": "all"},
        {"back": 0},
        {"back": 65},
        {"back": True},
        {"past_random": 1},
        {"reveals": "peek"},
        {"reveals": ["nothing"]},
        {"reveals": [1]},
    ],
)
def test_a_wrong_declaration_is_refused(wrong: dict[str, Any]) -> None:
    """The message says what to write."""
    with pytest.raises(DefinitionError, match="undo"):
        game(**wrong)


deeds = st.lists(
    st.tuples(
        st.sampled_from(SEATS),
        st.sampled_from(["add", "roll", "peek", "ask", "yes", "no", "time"]),
        st.integers(0, 400),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["mover", "anyone"]),
    st.sampled_from(["opponents", "nobody"]),
    st.integers(1, 6),
    st.booleans(),
    deeds,
)
def test_any_log_with_takebacks_plays_back_to_the_same(
    ask: str, agree: str, back: int, past_random: bool, done: list[Any]
) -> None:
    """Every snapshot, every digest; a finished takeback is the revision it names."""
    rule = game(
        ask=ask, agree=agree, back=back, past_random=past_random, reveals=["peek"]
    )
    session = create_session(rule, MATCH)
    at: dict[int, Snapshot] = {0: session.snapshot}
    now = 0
    for seat, what, later in done:
        now += later
        answer: object
        if what == "ask":
            answer = session.undo(seat, now=now)
        elif what in ("yes", "no"):
            answer = session.answer_undo(seat, what == "yes", now=now)
        elif what == "time":
            answer = session.fire_timeout(now=now)
        else:
            payload = later if what == "add" else None
            answer = session.apply(seat, what, payload, now=now)
        if not isinstance(answer, Batch):
            continue
        for step in answer.steps:
            at[step.snapshot.revision] = step.snapshot
        given_ = session.log[-1].input
        if session.log[-1].kind == "takeback":
            same = given_["to"] if given_["phase"] == "done" else session.revision - 1
            assert same_but_revision(session.snapshot, at[same])
    again = [p.snapshot for p in verify_records(compile_game(rule), session.log)]
    assert again == [at[record.revision_after] for record in session.log]
    timeline = materialize(rule, session.log)
    assert [frame.snapshot for frame in timeline.frames()] == list(at.values())


def test_an_exported_log_with_takebacks_verifies_and_opens_anywhere() -> None:
    """Its snapshots do not know what can be taken back, and mislead nobody."""
    session = create_session(game(agree="nobody", back=2), MATCH)
    at = {0: session.snapshot}
    for number in range(1, 400):
        played(session, ("a", number))
        at[session.revision] = session.snapshot
        if session.log[-1].index % MARK_EVERY == 0:
            assert isinstance(session.undo("a", now=2), Batch)
            at[session.revision] = session.snapshot
    machine = compile_game(session.game)
    log = read_log_file(write_log_file(session.log, machine))
    assert verify_log(machine, log) == len(session.log)
    assert compare_log(machine, log) is None
    for revision in (*range(300, 0, -1), session.revision):
        timeline = open_timeline(machine, log.recording())
        assert timeline.frame(revision).snapshot == at[revision]


def test_a_jump_in_an_exported_log_plays_from_its_snapshots() -> None:
    """Also of a game that may be taken back, where nothing was."""
    session = create_session(game(back=8), MATCH)
    played(session, *(("a", number) for number in range(1, 301)))
    machine = compile_game(session.game)
    log = read_log_file(write_log_file(session.log, machine))
    RUNS.clear()
    timeline = open_timeline(machine, log.recording())
    assert timeline.frame(290).snapshot.G["log"][-1] == 290
    assert min(RUNS) > 256
