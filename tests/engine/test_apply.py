"""Answering an action: refusals, results, the queue, and author code that fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hotseat.engine import (
    Batch,
    FrozenError,
    InvalidGameError,
    InvalidJsonValueError,
    Refusal,
    ResolverContext,
    Session,
    create_session,
    enqueue,
    event,
    reject,
    state,
    transition,
)
from hotseat.engine.limits import INTERNAL_EVENTS_MAX, NESTING_MAX
from hotseat.engine.refusal import REFUSALS

from .samples import MATCH, accepted, ask, one_state, refused


class Cell(msgspec.Struct):
    x: int
    y: int


def nested(levels: int) -> Any:
    """A list inside a list, so many of them."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_the_checks_come_in_their_order() -> None:
    """Each refusal wins over those after it."""
    game = one_state(
        lambda ctx: {"result": 1},
        events={"go": event(Cell), "other": event()},
        states={"play": state(active_players=["0"])},
        transitions=[transition("go", "play", "play", lambda ctx: {"result": 1})],
    )
    session = create_session(game, MATCH)
    refused(session.apply("9", "nope", {1}, now=1), "unknown_player")
    refused(session.apply("1", "nope", {1}, now=1), "inactive_player")
    refused(session.apply("0", "nope", {1}, now=1), "unknown_event")
    refused(session.apply("0", "go", {1}, now=1), "non_serializable_args")
    refused(session.apply("0", "go", nested(NESTING_MAX + 1), now=1), "too_deep")
    refused(session.apply("0", "go", {"x": 1}, now=1), "invalid_payload")
    refused(session.apply("0", "other", now=1), "invalid_event")
    accepted(session.apply("0", "go", {"x": 1, "y": 2}, now=1))
    refused(session.apply("9", "nope", {1}, now=1), "game_over")


def test_every_code_has_its_sentence() -> None:
    """A refusal explains itself."""
    answer = ask(lambda ctx: None)
    assert answer.message == REFUSALS["invalid_event"]
    assert all(sentence.endswith(".") for sentence in REFUSALS.values())


def test_a_typed_payload_reaches_the_resolver_converted() -> None:
    """The resolver sees the declared type, the record keeps the JSON."""
    seen: list[object] = []

    def note(ctx: ResolverContext) -> object:
        seen.append(ctx.event.payload)
        return {}

    game = one_state(note, events={"go": event(Cell)})
    session = create_session(game, MATCH)
    batch = accepted(session.apply("0", "go", {"x": 1, "y": 2}, now=1))
    assert seen == [Cell(1, 2)]
    assert batch.steps[0].event.payload == {"x": 1, "y": 2}


def test_a_payload_of_the_wrong_shape_says_where() -> None:
    """The message leads to the fault."""
    game = one_state(lambda ctx: {}, events={"go": event(Cell)})
    session = create_session(game, MATCH)
    answer = session.apply("0", "go", {"x": 1, "y": "2"}, now=1)
    assert "$.y" in refused(answer, "invalid_payload").message


@pytest.mark.parametrize("value", [nested(20_000), nested(NESTING_MAX + 1)])
def test_deep_payloads_are_refused(value: Any) -> None:
    """No payload can crash a match by its depth."""
    refused(ask(lambda ctx: {}, value), "too_deep")


def test_a_payload_at_the_limit_is_accepted_and_logged() -> None:
    """The log holds what the rules accept."""
    session = create_session(one_state(lambda ctx: {}), MATCH)
    accepted(session.apply("0", "go", nested(NESTING_MAX), now=1))
    assert session.log[1].input["payload"] == nested(NESTING_MAX)


@pytest.mark.parametrize("answer", [None, False])
def test_nothing_is_no_match(answer: object) -> None:
    """A resolver that returns nothing does not match."""
    refused(ask(lambda ctx: answer), "invalid_event")


@pytest.mark.parametrize("answer", [True, 0, "", "x", [], {}, {"other": 1}])
def test_anything_else_is_a_match_that_changes_nothing(answer: object) -> None:
    """Only a mapping's own keys say what changes."""
    batch = accepted(ask(lambda ctx: answer))
    assert batch.snapshot.G == {}
    assert batch.snapshot.revision == 1


@pytest.mark.parametrize(
    "answer",
    [reject("why", {"n": 1}), {"kind": "reject", "reason": "why", "details": {"n": 1}}],
)
def test_a_rejection_gives_its_words(answer: object) -> None:
    """Reason and details come out as the game said them."""
    refusal = refused(ask(lambda ctx: answer), "invalid_event")
    assert (refusal.reason, refusal.details) == ("why", {"n": 1})


@pytest.mark.parametrize(
    "answer",
    [
        {"G": {1, 2}},
        {"result": {1, 2}},
        {"enqueue": [{"kind": "nope"}]},
        {"enqueue": [{"kind": "go", "payload": {1}}]},
        {"enqueue": "go"},
        {"enqueue": ["go"]},
        {"profile": None},
        {"profile": {"0": "x"}},
        {"profile": {"9": [{"op": "zap", "path": []}]}},
        {"turn": {1, 2}},
    ],
)
def test_an_invalid_result_is_refused(answer: object) -> None:
    """The author's mistake is named, and nothing changes."""
    refused(ask(lambda ctx: answer), "invalid_transition_result")


def test_a_result_too_deep_is_refused_as_such() -> None:
    """G has the same limit as everything else."""
    refused(ask(lambda ctx: {"G": nested(NESTING_MAX + 1)}), "too_deep")


@pytest.mark.parametrize("error", [ValueError("x"), RecursionError(), MemoryError()])
def test_a_resolver_that_raises_is_a_refusal_with_a_fault(error: Exception) -> None:
    """The operator learns what failed; the refusal's words tell players nothing."""

    def resolve(ctx: ResolverContext) -> object:
        raise error

    refusal = refused(ask(resolve), "resolver_error")
    assert refusal.fault is not None
    assert refusal.fault.event == "go"
    assert refusal.fault.label == "resolver:resolve"
    assert refusal.fault.exception_type == type(error).__name__
    assert "in resolve" in refusal.fault.traceback
    assert refusal.message == REFUSALS["resolver_error"]
    assert "fault" not in repr(refusal)


def test_endless_recursion_in_a_resolver_is_a_refusal() -> None:
    """A resolver cannot take the engine's stack with it."""

    def resolve(ctx: ResolverContext) -> object:
        return resolve(ctx)

    assert refused(ask(resolve), "resolver_error").fault is not None


def test_what_interrupts_from_outside_passes_through() -> None:
    """A watchdog's interruption is not an author's error."""

    class Interruption(BaseException):
        pass

    def resolve(ctx: ResolverContext) -> object:
        raise Interruption

    with pytest.raises(Interruption):
        ask(resolve)


def test_an_exception_with_hostile_text_is_recorded_all_the_same() -> None:
    """Not even an exception that cannot be printed escapes."""

    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def resolve(ctx: ResolverContext) -> object:
        raise Hostile

    fault = refused(ask(resolve), "resolver_error").fault
    assert fault is not None
    assert fault.exception_type == "Hostile"


def test_changing_g_in_place_says_what_to_write() -> None:
    """The classic mistake becomes a fault whose text is the cure."""

    def resolve(ctx: ResolverContext) -> object:
        ctx.G["n"] = 1
        return {}

    fault = refused(ask(resolve), "resolver_error").fault
    assert fault is not None
    assert fault.exception_type == FrozenError.__name__
    assert "{**old, key: value}" in fault.message


def test_a_context_cannot_be_changed() -> None:
    """Contexts are read-only."""

    def resolve(ctx: ResolverContext) -> object:
        ctx.G = {}  # type: ignore[misc]
        return {}

    refused(ask(resolve), "resolver_error")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("label", lambda ctx: 1 if ctx.G["n"] else "fine"),
        ("deadline", lambda ctx: float("nan") if ctx.G["n"] else 1),
        ("control", lambda ctx: {1} if ctx.G["n"] else None),
        ("active_players", lambda ctx: "01" if ctx.G["n"] else ["0"]),
        ("metadata", lambda ctx: 1 // (1 - ctx.G["n"]) and []),
    ],
)
def test_a_derivation_that_fails_after_a_step_undoes_it(part: str, value: Any) -> None:
    """The new state is not reached, and the refusal says which part failed."""
    words = {"active_players": ["0"], part: value}
    game = one_state(
        lambda ctx: {"G": {"n": 1}}, states={"play": state(**words)}, setup={"n": 0}
    )
    session = create_session(game, MATCH)
    before = session.snapshot
    refusal = refused(session.apply("0", "go", now=1), "derivation_error")
    assert refusal.fault is not None
    assert refusal.fault.label == f"{part} of state play"
    assert session.snapshot is before


def queue_game(resolve: Any, events: tuple[str, ...] = ("go", "tick", "tock")) -> Any:
    """Every event loops on the one state through the same resolver."""
    edges = [transition(name, "play", "play", resolve) for name in events]
    return one_state(events=events, transitions=edges, setup={"n": 0})


def test_an_endless_queue_overflows_and_names_its_cycle() -> None:
    """The batch is rolled back, and the events that chase each other are named."""
    after = {"go": "tick", "tick": "tock", "tock": "tick"}
    game = queue_game(lambda ctx: {"enqueue": [enqueue(after[ctx.event.kind])]})
    session = create_session(game, MATCH)
    before = session.snapshot
    refusal = refused(session.apply("0", "go", now=1), "queue_overflow")
    assert sorted(refusal.details["cycle"]) == ["tick", "tock"]
    assert refusal.details["limit"] == INTERNAL_EVENTS_MAX
    assert session.snapshot is before
    assert len(session.log) == 1


@pytest.mark.parametrize("count", [INTERNAL_EVENTS_MAX, INTERNAL_EVENTS_MAX + 1])
def test_the_limit_of_the_queue_is_exact(count: int) -> None:
    """A thousand internal events are fine, one more is not."""

    def resolve(ctx: ResolverContext) -> object:
        if ctx.event.kind == "go":
            return {"enqueue": [enqueue("tick")] * count}
        return {"G": {"n": ctx.G["n"] + 1}}

    answer = create_session(queue_game(resolve), MATCH).apply("0", "go", now=1)
    if count > INTERNAL_EVENTS_MAX:
        refused(answer, "queue_overflow")
    else:
        batch = accepted(answer)
        assert {"n": count} == batch.snapshot.G
        assert batch.snapshot.revision == count + 1


def test_a_failure_late_in_the_queue_undoes_the_whole_batch() -> None:
    """All steps of a batch happen, or none."""

    def resolve(ctx: ResolverContext) -> object:
        if ctx.event.kind == "tock":
            return reject("no")
        nxt = {"go": "tick", "tick": "tock"}[ctx.event.kind]
        return {"G": {"n": ctx.G["n"] + 1}, "enqueue": [enqueue(nxt)]}

    session = create_session(queue_game(resolve), MATCH)
    before = session.snapshot
    refusal = refused(session.apply("0", "go", now=1), "invalid_event")
    assert refusal.reason == "no"
    assert session.snapshot is before


def test_an_internal_event_of_the_wrong_shape_is_the_authors_mistake() -> None:
    """A typed internal event is held to its type too."""
    game = one_state(
        events={"go": event(), "tick": event(Cell)},
        transitions=[
            transition(
                "go", "play", "play", lambda ctx: {"enqueue": [enqueue("tick", 1)]}
            ),
            transition("tick", "play", "play"),
        ],
    )
    answer = create_session(game, MATCH).apply("0", "go", now=1)
    refused(answer, "invalid_transition_result")


@pytest.mark.parametrize("name", ["__timeout", "__gamekit_phase_outcome"])
def test_nobody_dispatches_an_internal_name(name: str) -> None:
    """Not even when the game declares it."""
    game = queue_game(lambda ctx: {}, ("go", name))
    refused(create_session(game, MATCH).apply("0", name, now=1), "unknown_event")


@pytest.mark.parametrize("name", [None, 1, ["go"], {"go": 1}])
def test_a_name_of_the_wrong_type_is_an_unknown_event(name: Any) -> None:
    """What is not a name is not an event."""
    session = create_session(one_state(lambda ctx: {}), MATCH)
    refused(session.apply("0", name, now=1), "unknown_event")


@pytest.mark.parametrize("now", [float("nan"), float("inf"), "1", None, True])
def test_a_time_that_is_no_number_is_an_error(now: Any) -> None:
    """The host's mistake is raised, not refused."""
    session = create_session(one_state(lambda ctx: {}), MATCH)
    with pytest.raises(InvalidJsonValueError):
        session.apply("0", "go", now=now)


def refusals() -> Iterator[tuple[str, Any]]:
    """One resolver for each way of failing late."""
    yield "resolver_error", lambda ctx: ctx.rng.d6() / 0
    yield "invalid_event", lambda ctx: reject(str(ctx.rng.d6()))
    yield "invalid_transition_result", lambda ctx: {"G": {"r": ctx.rng.d6(), "x": {1}}}


@pytest.mark.parametrize(("code", "resolve"), list(refusals()))
def test_a_refused_action_changes_nothing(code: str, resolve: Any) -> None:
    """Snapshot, revision, rng, digest, deadline and log stay the very same."""
    session = create_session(one_state(resolve), MATCH)
    before = (session.snapshot, session.digest, len(session.log), session.revision)
    refused(session.apply("0", "go", now=99), code)
    assert (session.snapshot, *before[1:]) == before
    assert session.snapshot is before[0]
    assert session.digest == before[1]


def test_what_did_not_change_is_the_same_object() -> None:
    """A step shares with the one before all that its resolver kept."""
    big = {"rows": [[0] * 10 for _ in range(10)], "words": {"a": ["b"]}}
    game = one_state(
        lambda ctx: {"G": {**ctx.G, "rows": [[1] * 10, *ctx.G["rows"][1:]]}}, setup=big
    )
    session = create_session(game, MATCH)
    before = session.snapshot
    after = accepted(session.apply("0", "go", now=1)).snapshot
    assert after.G["words"] is before.G["words"]
    assert after.G["rows"][1] is before.G["rows"][1]
    assert after.G["rows"][0] is not before.G["rows"][0]
    assert before.G["rows"][0] == [0] * 10
    assert after.meta.match is before.meta.match
    assert after.position is before.position


def test_a_batch_never_holds_the_resolvers_own_containers() -> None:
    """A list that the author keeps and changes later does not reach the match."""
    kept: list[int] = []
    session = create_session(one_state(lambda ctx: {"G": {"kept": kept}}), MATCH)
    batch = accepted(session.apply("0", "go", now=1))
    kept.append(1)
    assert batch.snapshot.G == {"kept": []}
    assert session.snapshot.G == {"kept": []}


def test_the_revision_counts_steps() -> None:
    """A batch of three steps adds three."""

    def resolve(ctx: ResolverContext) -> object:
        again = [enqueue("tick")] * 2 if ctx.event.kind == "go" else []
        return {"enqueue": again}

    session = create_session(queue_game(resolve), MATCH)
    batch = accepted(session.apply("0", "go", now=1))
    assert [step.snapshot.revision for step in batch.steps] == [1, 2, 3]
    assert session.revision == 3
    assert session.log[1].revision_after == 3
    assert isinstance(session, Session)
    assert isinstance(batch, Batch)
    assert not isinstance(batch, Refusal)


@pytest.mark.parametrize("late", [[0], [["0"]], [None], "0", {"0"}])
def test_active_players_that_are_no_list_of_seats_fail_the_step(late: Any) -> None:
    """Who may act is told to every player, so what is no seat stops at the engine."""
    game = one_state(
        lambda ctx: {"G": {"late": True}},
        setup={"late": False},
        states={"play": state(active_players=lambda c: late if c.G["late"] else ["0"])},
    )
    session = create_session(game, MATCH)
    refusal = refused(session.apply("0", "go", now=1), "derivation_error")
    assert refusal.fault is not None
    assert refusal.fault.label == "active_players of state play"


def test_a_seat_that_is_a_number_is_told_as_such() -> None:
    """0 looks like "0" in a message; the hint tells them apart."""
    game = one_state(states={"play": state(active_players=lambda ctx: [0])})
    with pytest.raises(InvalidGameError) as caught:
        create_session(game, MATCH)
    assert "Seats are strings, and 0 is not" in str(caught.value)
