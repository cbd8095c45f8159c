"""Envelopes: what travels between implementations, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from hotseat.engine import create_session, define_game, profile, state, transition
from hotseat.engine.record import Record
from hotseat.engine.replay import (
    EnvelopeError,
    create_envelope,
    envelope_to_json,
    materialize,
    open_timeline,
    parse_envelope,
    read_envelope,
    save_log,
    save_session,
    write_envelope,
)
from hotseat.engine.session import Session

from ..samples import everything
from .matches import SCRIPTS, played

GOOD: dict[str, Any] = {
    "version": 1,
    "gameID": "g",
    "initialNow": 0,
    "seed": "s",
    "match": {"players": ["0", "1"]},
    "actions": [
        {
            "actionID": "m_1",
            "at": 1,
            "event": "e",
            "payload": [1],
            "playerID": "0",
            "turn": 1,
            "type": "event",
        }
    ],
}


@given(SCRIPTS)
def test_an_envelope_replays_to_the_same_match(script: list[Any]) -> None:
    """Saved, sent as text and read again, a match is what it was at its end."""
    session = played(script, seed="é", now=5)
    text = write_envelope(save_session(session))
    timeline = materialize(everything(), read_envelope(text))
    assert timeline.frame(timeline.head).snapshot == session.snapshot
    assert write_envelope(read_envelope(text)) == text


def test_a_hosted_log_keeps_its_action_ids() -> None:
    """A host numbers actions its own way, and a resolver may have looked at them."""

    def note(ctx: Any) -> Any:
        return {"G": [*ctx.G, ctx.action_id]}

    game = define_game(
        name="noting",
        max_players=1,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: [],
        transitions=[transition("go", "play", "play", note)],
    )
    session = create_session(game, {"players": ["0"]})
    machine = session.machine
    batch = machine.apply(session.snapshot, "0", "go", now=1, action_id="0:1:1")
    given_input = {"seat": "0", "session": 1, "action": 1, "event": "go"}
    hosted = _hosted(session, {**given_input, "payload": None, "action_id": "0:1:1"})
    envelope = read_envelope(write_envelope(save_log(game, hosted)))
    timeline = open_timeline(game, envelope)
    assert timeline.frame(1).snapshot == batch.snapshot  # type: ignore[union-attr]
    assert timeline.frame(1).snapshot.G == ["0:1:1"]


def _hosted(session: Session, given_input: dict[str, Any]) -> list[Record]:
    from hotseat.engine.frozen import enclose
    from hotseat.engine.record import RecordKind

    action = Record(1, RecordKind.ACTION, 1, 1, enclose(given_input), b"", b"")
    return [session.log[0], action]


def test_profiles_are_parsed_once() -> None:
    """An envelope holds the profiles as given: parsing them twice would change them."""
    game = define_game(
        name="profiled",
        max_players=1,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: ctx.match["profiles"]["0"],
        transitions=[transition("go", "play", "play")],
        profile=profile({"wins": 0}, parse=lambda data: {"wins": data["wins"] + 1}),
    )
    match = {"players": ["0"], "profiles": {"0": {"wins": 5}}}
    session = create_session(game, match)
    envelope = read_envelope(write_envelope(save_session(session)))
    assert open_timeline(game, envelope).frame(0).snapshot == session.snapshot
    assert session.snapshot.G == {"wins": 6}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("", []),
        ("", "text"),
        ("version", {"version": 2}),
        ("version", {"version": True}),
        ("gameID", {"gameID": ""}),
        ("gameID", {"gameID": "\ud800"}),
        ("initialNow", {"initialNow": float("nan")}),
        ("initialNow", {"initialNow": True}),
        ("seed", {"seed": None}),
        ("match", {"match": 1}),
        ("match.players", {"match": {"players": []}}),
        ("match.profiles", {"match": {"players": ["0"], "profiles": [1]}}),
        ("match.data", {"match": {"players": ["0"], "data": 2**53}}),
        ("actions", {"actions": None}),
        ("actions[0]", {"actions": [3]}),
        ("actions[0].payload", {"actions": [{**GOOD["actions"][0], "payload": 2**60}]}),
        (
            "actions[0].event",
            {"actions": [{**GOOD["actions"][0], "event": "\ud800"}]},
        ),
        ("actions[0].at", {"actions": [{**GOOD["actions"][0], "at": "1"}]}),
        ("playerID", {"playerID": "7"}),
        ("metadata", {"metadata": 1}),
    ],
)
def test_what_is_no_envelope_is_refused_by_its_first_fault(
    path: str, changed: Any
) -> None:
    """Nothing of a wrong envelope is read, and the error names the field."""
    value = {**GOOD, **changed} if isinstance(changed, dict) else changed
    with pytest.raises(EnvelopeError) as caught:
        parse_envelope(value)
    assert caught.value.path == path
    assert caught.value.code == "invalid_envelope"


def test_the_first_fault_in_the_order_of_the_fields_is_named() -> None:
    """With several faults, the one that is checked first is told."""
    order = ["version", "gameID", "initialNow", "seed", "match", "actions", "playerID"]
    for at, field in enumerate(order):
        broken = {**GOOD, **dict.fromkeys(order[at:])}
        with pytest.raises(EnvelopeError) as caught:
            parse_envelope(broken)
        assert caught.value.path == field


@pytest.mark.parametrize("text", ["", "{", "[" * 5_000, '{"version": NaN}', b"\xff"])
def test_what_is_not_json_is_refused(text: Any) -> None:
    """Bytes of any kind are answered with one clear error."""
    with pytest.raises(EnvelopeError):
        read_envelope(text)


def test_deep_payloads_are_refused() -> None:
    """Nesting is bounded when an envelope is read."""
    payload: Any = None
    for _ in range(100):
        payload = [payload]
    action = {**GOOD["actions"][0], "payload": payload}
    with pytest.raises(EnvelopeError, match="nested"):
        parse_envelope({**GOOD, "actions": [action]})


def test_internal_records_are_kept_and_passed_by() -> None:
    """A file of the reference with internal records is written as it was read."""
    internal = {**GOOD["actions"][0], "type": "internal", "playerID": None}
    value = {**GOOD, "actions": [internal, *GOOD["actions"]]}
    assert envelope_to_json(parse_envelope(value)) == value


def test_an_envelope_is_made_of_what_another_holds() -> None:
    """Parts that were read can be put together again."""
    read = parse_envelope(json.loads(json.dumps(GOOD)))
    made = create_envelope("g", read.match, read.actions, seed="s")
    assert made == read
