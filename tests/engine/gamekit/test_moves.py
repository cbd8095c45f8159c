"""What a move sees, what it may answer, and what comes of it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from hotseat.engine import Batch, Game, Refusal, Session, create_session, freeze
from hotseat.engine.frozen import FDict
from hotseat.engine.gamekit import (
    MoveContext,
    Outcome,
    define_game,
    end_turn,
    enqueue,
    finish,
    goto,
    invalid,
    move,
    phase,
    profile,
    stay,
    views,
)

MATCH = {"players": ["0", "1"]}


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cell: Annotated[int, msgspec.Meta(ge=0, le=8)]


def small(*runs: Any, **more: Any) -> Game:
    """A game of these moves; G is {"n": 0, "log": []}."""
    parts: dict[str, Any] = {"setup": lambda ctx: {"n": 0, "log": []}, **more}
    moves = parts.pop("moves", list(runs))
    return define_game(name="small", max_players=2, moves=moves, **parts)


def played(game: Game, event: str, payload: Any = None, seat: str = "0") -> Session:
    """A match after one accepted move."""
    session = create_session(game, MATCH)
    answer = session.apply(seat, event, payload, now=5)
    assert isinstance(answer, Batch), answer
    return session


def refused(game: Game, event: str, payload: Any = None) -> Refusal:
    """The refusal of a move, after a look that nothing changed."""
    session = create_session(game, MATCH)
    before = session.snapshot
    answer = session.apply("0", event, payload, now=5)
    assert isinstance(answer, Refusal)
    assert session.snapshot is before
    return answer


def count(ctx: MoveContext[int]) -> Outcome:
    return end_turn({"n": ctx.G["n"] + ctx.args})


def place(ctx: MoveContext[Place]) -> Outcome:
    return stay({"n": ctx.args.cell})


def rest(ctx: MoveContext[None]) -> Outcome:
    return stay({"log": [ctx.args]})


def test_a_move_sees_what_it_needs() -> None:
    """State without what is not its own, arguments, player, phase, turn and time."""

    def look(ctx: MoveContext) -> Outcome:
        seen = {
            "G": ctx.G,
            "C": ctx.C,
            "args": ctx.args,
            "player": ctx.player,
            "phase": ctx.phase,
            "turn": ctx.turn.turn,
            "now": ctx.now,
            "players": ctx.players,
            "profiles": ctx.profiles,
        }
        return stay({"log": [seen]})

    computed = {"double": lambda ctx: ctx.G["n"] * 2}
    game = small(look, computed=computed, profile=profile({"wins": 0}))
    (seen,) = played(game, "look", {"a": 1}).snapshot.G["log"]
    assert seen == {
        "G": {"n": 0, "log": []},
        "C": {"double": 0},
        "args": {"a": 1},
        "player": "0",
        "phase": "play",
        "turn": 1,
        "now": 5,
        "players": ["0", "1"],
        "profiles": {"0": {"wins": 0}, "1": {"wins": 0}},
    }


def test_state_cannot_be_changed_in_place() -> None:
    """Not at the top either, where it is a copy."""

    def spoil(ctx: MoveContext) -> Outcome:
        ctx.G["n"] = 7
        return stay()

    answer = refused(small(spoil), "spoil")
    assert answer.code == "resolver_error"
    assert answer.fault is not None
    assert answer.fault.exception_type == "FrozenError"


@pytest.mark.parametrize(
    ("event", "payload", "path"),
    [
        ("count", "three", "$"),
        ("count", None, "$"),
        ("place", {"cell": 9}, "$.cell"),
        ("place", {"cell": 1, "row": 2}, "$.row"),
        ("rest", 0, "$"),
    ],
)
def test_arguments_are_validated_like_payloads(
    event: str, payload: Any, path: str
) -> None:
    """By the type that the annotation of the context tells."""
    answer = refused(small(count, place, rest), event, payload)
    assert answer.code == "invalid_payload"
    assert answer.details["path"] == path


def test_arguments_arrive_converted() -> None:
    """As a value of their type."""
    assert played(small(count), "count", 3).snapshot.G["n"] == 3
    assert played(small(place), "place", {"cell": 8}).snapshot.G["n"] == 8
    assert played(small(rest), "rest").snapshot.G["log"] == [None]


def test_arguments_of_a_lambda_have_their_type_given() -> None:
    """Nobody can annotate a lambda."""
    add = move(lambda ctx: stay({"n": ctx.args}), args=int)
    assert refused(small(moves={"add": add}), "add", "x").code == "invalid_payload"
    assert played(small(moves={"add": add}), "add", 4).snapshot.G["n"] == 4


def test_a_patch_names_what_changes_and_shares_the_rest() -> None:
    """Without a patch, G is the same object still."""
    before = create_session(small(rest), MATCH).snapshot.G
    assert before == {"n": 0, "log": [], "__gamekit": {"result": None}}
    game = small(count, nothing := lambda_named("nothing", lambda ctx: stay()))
    session = create_session(game, MATCH)
    start = session.snapshot.G
    session.apply("0", "nothing", now=1)
    assert session.snapshot.G is start
    session.apply("0", "count", 2, now=2)
    assert session.snapshot.G["log"] is start["log"]
    assert nothing.__name__ == "nothing"


def lambda_named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


def test_a_draft_is_a_patch() -> None:
    """What it changed, added, and took away; the same as by hand."""

    def draft(ctx: MoveContext) -> Outcome:
        G = ctx.draft()
        assert "__gamekit" not in G
        G["log"].append(ctx.player)
        del G["n"]
        G["m"] = 1
        return end_turn(G)

    G = played(small(draft), "draft").snapshot.G
    assert type(G) is type(freeze(G))
    assert isinstance(G, FDict)
    assert G == {"log": ["0"], "m": 1, "__gamekit": {"result": None}}


def test_a_draft_that_is_not_returned_is_a_mistake() -> None:
    """Unless it was not changed, or the move is refused."""

    def lost(ctx: MoveContext) -> Outcome:
        ctx.draft()["n"] = 1
        return stay()

    def idle(ctx: MoveContext) -> Outcome:
        assert ctx.draft()["n"] == 0
        return stay()

    def sorry(ctx: MoveContext) -> Outcome:
        ctx.draft()["n"] = 1
        return invalid("sorry")

    game = small(lost, idle, sorry)
    answer = refused(game, "lost")
    assert answer.fault is not None
    assert "return it as the patch" in answer.fault.message
    assert played(game, "idle").snapshot.G["n"] == 0
    assert refused(game, "sorry").reason == "sorry"


def test_a_patch_must_be_json_and_a_mapping() -> None:
    """The one is the core's refusal, the other an author's mistake."""

    def number(ctx: MoveContext) -> Outcome:
        return stay({"n": float("nan")})

    def listed(ctx: MoveContext) -> Outcome:
        return stay([1])  # type: ignore[arg-type]

    game = small(number, listed)
    assert refused(game, "number").code == "invalid_transition_result"
    assert refused(game, "listed").code == "resolver_error"


def test_a_move_must_answer() -> None:
    """The operator is told by name which one did not, and where it is."""

    def silent(ctx: MoveContext) -> Any:
        return None

    answer = refused(small(silent), "silent")
    assert answer.code == "resolver_error"
    assert answer.fault is not None
    assert 'the move "silent" returned None' in answer.fault.message
    assert answer.fault.where is not None
    assert "test_moves.py" in answer.fault.where


def test_a_move_is_refused_with_its_words() -> None:
    """Reason and details reach the player, and nothing changes."""

    def no(ctx: MoveContext) -> Outcome:
        return invalid("not_now", {"n": ctx.rng.d6()})

    answer = refused(small(no), "no")
    assert (answer.code, answer.reason) == ("invalid_event", "not_now")
    assert 1 <= answer.details["n"] <= 6


def test_finishing_ends_the_match() -> None:
    """With any result; nobody may act then, and the graph shows where it went."""

    def win(ctx: MoveContext) -> Outcome:
        return finish({"winner": ctx.player, "by": 3}, {"n": 3})

    session = played(small(win), "win")
    assert session.result == {"winner": "0", "by": 3}
    assert session.snapshot.position.name == "__gamekit_finished"
    assert session.snapshot.derived.control_meta.label == "Finished"
    assert session.snapshot.derived.active_players == []
    assert session.snapshot.G["__gamekit"] == {"result": {"winner": "0", "by": 3}}


def test_queued_moves_run_for_who_acted() -> None:
    """In order, each with an outcome of its own; one refusal refuses them all."""

    def deal(ctx: MoveContext[int]) -> Outcome:
        more = [enqueue("deal", ctx.args - 1)] if ctx.args else [enqueue("check")]
        return stay({"log": [*ctx.G["log"], ctx.player]}, enqueue=more)

    def check(ctx: MoveContext) -> Outcome:
        return invalid("too_many") if len(ctx.G["log"]) > 3 else end_turn()

    game = small(deal, check)
    session = played(game, "deal", 2)
    assert session.snapshot.G["log"] == ["0", "0", "0"]
    assert session.snapshot.position.turn == 2
    assert refused(game, "deal", 3).reason == "too_many"


def test_profiles_change_with_a_move() -> None:
    """In the match at once; the next move sees it."""

    def score(ctx: MoveContext) -> Outcome:
        told = ctx.profile.inc(ctx.player, "wins", 1)
        return stay({"n": ctx.profiles[ctx.player]["wins"]}, profile=told)

    session = played(small(score, profile=profile({"wins": 4})), "score")
    session.apply("0", "score", now=6)
    assert session.snapshot.G["n"] == 5
    assert session.snapshot.meta.match["profiles"]["0"] == {"wins": 6}


def test_going_to_a_phase_that_does_not_exist_matches_nothing() -> None:
    """Nor does the state of a finished match, nor what is no name."""

    def jump(ctx: MoveContext) -> Outcome:
        return goto(ctx.args)

    game = small(jump, phases={"play": phase(), "rest": phase()})
    for nowhere in ("nowhere", "__gamekit_finished", None, ["rest"]):
        answer = refused(game, "jump", nowhere)
        assert (answer.code, answer.reason) == ("invalid_event", None)
    assert played(game, "jump", "rest").snapshot.position.name == "rest"


def test_no_player_dispatches_what_is_internal() -> None:
    """A forged outcome of a timeout is an unknown event."""
    late = phase(deadline=10, on_timeout=lambda ctx: stay())
    game = small(rest, phases={"play": late})
    forged = {"kind": "finish", "result": {"winner": "0"}}
    assert "__gamekit_phase_outcome" in game.events
    assert refused(game, "__gamekit_phase_outcome", forged).code == "unknown_event"


def test_the_body_runs_once_and_leaves_nothing_behind() -> None:
    """Matches of one compiled game do not hear of each other; equal ones are equal."""
    heard: list[int] = []

    def roll(ctx: MoveContext) -> Outcome:
        die = ctx.rng.d6()
        heard.append(die)
        if die == 6:
            return invalid("six")
        return goto("b" if ctx.phase == "a" else "a", {"log": [*ctx.G["log"], die]})

    phases = {"a": phase(), "b": phase(), "c": phase()}
    game = small(roll, phases=phases, open_information=True)
    sessions = [create_session(game, MATCH, seed=seed) for seed in "xyx"]
    for now in range(12):
        for session in sessions:
            session.apply("0", "roll", now=now)
    assert len(heard) == 12 * len(sessions)
    for session in sessions:
        rolls = session.snapshot.meta.rng.draws
        assert rolls == len(session.snapshot.G["log"]) == session.revision
    assert sessions[0].digest == sessions[2].digest != sessions[1].digest


def test_public_moves_show_their_arguments() -> None:
    """As a public event does; others are seen by who made them alone."""
    game = small(moves={"open": move(count, public=True), "hidden": move(count)})
    assert game.events["open"].public
    assert not game.events["hidden"].public


def test_views_of_a_game_without_any() -> None:
    """A local match shows the author's G; a host would refuse the game."""
    session = played(small(count), "count", 1)
    assert session.public_view() == {"n": 1, "log": []}
    assert session.player_view("1") == {"n": 1, "log": []}
    only = views(public=lambda ctx: {"n": ctx.G["n"]})
    seen = played(small(count, views=only), "count", 1)
    assert seen.player_view("1") == {"n": 1}
