"""The format of replay.json: envelopes, frames, cursors and branches.

Envelopes and frames are compared exactly. What an error says is hotseat's own, but it
names the same field of an envelope; an action that cannot be replayed is refused with
the same code. Where a deviation applies, its demand is checked instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from hotseat.engine.definition import Game
from hotseat.engine.errors import EngineError
from hotseat.engine.refusal import Refusal
from hotseat.engine.replay.branch import Branch, Branches
from hotseat.engine.replay.cursor import Cursor, CursorState
from hotseat.engine.replay.envelope import (
    Envelope,
    create_envelope,
    envelope_to_json,
    parse_envelope,
    read_envelope,
    write_envelope,
)
from hotseat.engine.replay.frame import Frame
from hotseat.engine.replay.recording import recording_of
from hotseat.engine.replay.replay_error import EnvelopeError
from hotseat.engine.replay.save import save_session
from hotseat.engine.replay.timeline import Timeline, materialize
from hotseat.engine.session import Session, create_session

from .deviations import kept_in_envelopes, view_of_own_frame
from .encode import (
    derived_json,
    event_json,
    plain,
    position_json,
    rng_json,
    step_json,
)
from .gamekit_game import build_gamekit_game
from .outcome import Outcome, Skip, difference, judge
from .scenario_game import build_game

__all__ = ["action_json", "check", "is_replay_document"]

Json = Any
Case = Mapping[str, Json]
FIELD = re.compile(r"(?:saved replay\.?)?(?P<path>[\w.\[\]]*?)\.? (?:\"|must|contain)")


def is_replay_document(document: Mapping[str, Json]) -> bool:
    """Whether a file is of this format."""
    return "materialize" in document or "branches" in document


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each case; the cursor's chain of calls is one."""
    cases = document.get("cases", [])
    by_id = {case["id"]: case for case in cases}
    for case in cases:
        yield judge(f"cases {case['id']}", partial(_first, _case(case)))
    for case in document.get("materialize", []):
        game_of = by_id.get(case.get("game_of_case"), {})
        problems = partial(_materialized, case, game_of)
        yield judge(f"materialize {case['id']}", problems)
    for case in document.get("parse", []):
        yield judge(f"parse {case['id']}", partial(_parsed, case))
    for case in document.get("create", []):
        yield judge(f"create {case['id']}", partial(_created, case))
    counter = by_id.get("counter_internal")
    if "cursor" in document and counter is not None:
        walk = partial(_walked, document["cursor"], counter)
        yield judge("cursor", lambda: _first(walk()))
    for case in document.get("branches", []):
        name = f"branches {case['branchID']} at {case['actionID']}"
        yield judge(name, partial(_branched, case, counter))


def _first(problems: Iterator[str]) -> Iterator[str]:
    """After the first difference a case tells another story."""
    return islice(filter(None, problems), 1)


def _game(case: Case) -> Game:
    build = build_game if case["kind"] == "core" else build_gamekit_game
    return build(case["game"])


def _case(case: Case) -> Iterator[str]:
    game, session = _game(case), None
    session = create_session(game, **case["session"])
    yield from _played(case, session)
    envelope = save_session(
        session,
        game_id=case["envelope"]["gameID"],
        player_id=case["envelope"].get("playerID"),
        metadata=case["envelope"].get("metadata"),
    )
    yield difference(case["envelope"], envelope_to_json(envelope), "envelope")
    again = read_envelope(write_envelope(envelope))
    expected = case["parsed"]
    if expected == "$envelope":
        expected = case["envelope"]
    expected = kept_in_envelopes(case["envelope"], expected)
    yield difference(expected, envelope_to_json(again), "parsed")
    timeline = materialize(game, again)
    if case["final_equals_live"]:  # else the reference has lost the profiles
        yield from _frames(case, timeline, again)
    branches = [_branch_json(branch) for branch in Branches(timeline)]
    yield difference(case["branches"], branches, "branches")
    last = timeline.frame(timeline.head).snapshot
    live = case["live_final_state"]
    yield difference(live["G"], plain(last.G), "the last frame's G")
    live_match = live["meta"]["match"]
    yield difference(live_match, plain(last.meta.match), "the last frame's match")
    yield "" if last == session.snapshot else "the last frame is not as live"


def _played(case: Case, session: Session) -> Iterator[str]:
    for step, expected in zip(case["script"], case["script_results"], strict=True):
        answer: Any
        if step["op"] == "apply":
            answer = session.apply(
                step["player"], step["event"], step.get("payload"), now=step["at"]
            )
        else:
            answer = session.fire_timeout(step["now"]) or False
        actual = answer.code if isinstance(answer, Refusal) else bool(answer)
        yield difference(expected, actual, f"script {step}")


def _frames(case: Case, timeline: Timeline, envelope: Envelope) -> Iterator[str]:
    frames = list(timeline.frames())
    yield difference(len(case["frames"]), len(frames), "number of frames")
    for expected, frame in zip(case["frames"], frames, strict=True):
        actual = frame_json(timeline, frame, envelope)
        where = f"frame {frame.revision}"
        demanded = view_of_own_frame(case, expected)
        expected = {**expected, "playerView": demanded}
        yield difference(expected, actual, where)


def frame_json(timeline: Timeline, frame: Frame, envelope: Envelope) -> Json:
    """A frame in the words of the recording."""
    snapshot, step = frame.snapshot, frame.step
    meta = snapshot.meta
    return {
        "revision": frame.revision,
        "action": action_json(frame, envelope),
        "step": None if step is None else step_json(step),
        "G": plain(snapshot.G),
        "position": position_json(snapshot.position),
        "derived": derived_json(snapshot.derived),
        "result": plain(meta.result),
        "rng": rng_json(meta.rng),
        "now": meta.now,
        "match": plain(meta.match),
        "logLength": _log_length(timeline, frame),
        "playerView": plain(timeline.player_view(frame)),
    }


def action_json(frame: Frame, envelope: Envelope) -> Json:
    """The action as it was recorded, which may have other ids than the replay's."""
    if frame.action is None:
        return None
    kept = [action for action in envelope.actions if action.type != "internal"]
    found = envelope_to_json(
        Envelope("g", envelope.match, (kept[frame.action.index - 1],))
    )
    return found["actions"][0]


def _log_length(timeline: Timeline, frame: Frame) -> int:
    """The reference logs a batch when it is over."""
    if frame.record is None or frame.step is None:
        return 0
    place = frame.record.index
    over = frame.revision == timeline.last_of_record(place)
    return place if over else place - 1


def _materialized(case: Case, game_of: Case) -> Iterator[str]:
    options, expect = case["options"], case["expect"]
    try:
        envelope = _envelope(options)
        timeline = materialize(_game(game_of), envelope)
    except EngineError as error:
        if "throws" not in expect:
            yield f"expected frames, actual {error}"
            return
        *_, wanted = expect["throws"]["message"].split(": ")
        wanted = "nothing was due" if "null" in wanted else wanted
        yield "" if wanted in str(error) else f"expected {wanted}, actual {error}"
        return
    if "throws" in expect:
        yield f"expected {expect['throws']['message']}, actual frames"
        return
    yield difference(expect["frames"], timeline.head + 1, "number of frames")
    timeline.seat = options.get("playerID")
    last = frame_json(timeline, timeline.frame(timeline.head), envelope)
    yield difference(expect["final"], last, "final")


def _envelope(options: Case) -> Envelope:
    given = {"version": 1, "gameID": "g", "initialNow": 0, "seed": "default"}
    given |= {key: options[key] for key in options if key != "playerID"}
    return parse_envelope(given)


def _parsed(case: Case) -> Iterator[str]:
    expect = case["expect"]
    try:
        if "text" in case:
            envelope = read_envelope(case["text"])
        else:
            envelope = parse_envelope(case["value"])
    except EnvelopeError as error:
        yield _same_field(expect, error)
        return
    if "throws" in expect:
        yield f"expected {expect['throws']['message']}, actual {envelope}"
        return
    expected = kept_in_envelopes(case.get("value", {}), expect["ok"])
    yield difference(expected, envelope_to_json(envelope), "parsed")


def _created(case: Case) -> Iterator[str]:
    options, expect = dict(case["options"]), case["expect"]
    names = {"initialNow": "initial_now", "playerID": "player_id"}
    given = {names.get(key, key): value for key, value in options.items()}
    if given.get("initial_now") == "<NaN>":
        given["initial_now"] = math.nan
    try:
        made = create_envelope(given.pop("gameID"), **given)
    except EnvelopeError as error:
        yield _same_field(expect, error)
        return
    if "throws" in expect:
        yield f"expected {expect['throws']['message']}, actual {made}"
        return
    yield difference(expect["ok"], envelope_to_json(made), "created")


def _same_field(expect: Case, error: EnvelopeError) -> str:
    """An error is expected, about the same field."""
    if "throws" not in expect:
        return f"expected {expect}, actual {error}"
    message = expect["throws"]["message"]
    if message.startswith("Unsupported saved replay version"):
        wanted = "version"
    else:
        found = FIELD.match(message)
        assert found is not None, message
        wanted = found["path"]
    if error.path == wanted:
        return ""
    return f"expected {message!r} ({wanted!r}), actual {error.path!r}: {error}"


def _branch_json(branch: Branch) -> Json:
    return {
        "branchID": branch.branch_id,
        "createdAtActionID": branch.created_at_action_id,
        "createdAtRevision": branch.created_at_revision,
        "headActionID": branch.head_action_id,
        "parentBranchID": branch.parent_branch_id,
    }


def _timeline(case: Case) -> Timeline:
    envelope = parse_envelope(case["envelope"])
    return Timeline(materialize(_game(case), envelope).machine, recording_of(envelope))


def _walked(recorded: Case, counter: Case) -> Iterator[str]:
    branches = Branches(_timeline(counter))
    branches.add("alt", "m_2")
    branches.add("start", None, parent="alt")
    cursor = Cursor(branches)
    timeline = branches.timeline
    rows = [
        [
            frame.revision,
            None if frame.action is None else frame.action.input["action_id"],
            None if frame.step is None else event_json(frame.step.event)["actionID"],
            frame.snapshot.position.turn,
        ]
        for frame in timeline.frames()
    ]
    yield difference(recorded["revisions"], rows, "revisions")
    for index, step in enumerate(recorded["steps"]):
        name = re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", step["method"])
        where = f"step {index} {name} {step['args']}"
        try:
            if name == "get_state":
                state = cursor.state
            else:
                state = getattr(cursor, name)(*step["args"])
        except EngineError as error:
            expected = "throws" in step["expect"]
            yield "" if expected else f"{where}: actual {error}"
            continue
        yield difference(step["expect"], _state_json(state), where)


def _state_json(state: CursorState) -> Json:
    return {
        "branch": state.branch.branch_id,
        "revision": state.revision,
        "isPlaying": state.playing,
        "speed": state.speed,
    }


def _branched(case: Case, counter: Case | None) -> Iterator[str]:
    if counter is None:
        raise Skip("the case it looks at is missing")
    branches = Branches(_timeline(counter))
    given = {"parent": case["parentBranchID"]} if "parentBranchID" in case else {}
    try:
        branches.add(case["branchID"], case["actionID"], **given)
    except EngineError as error:
        yield "" if "throws" in case["expect"] else f"actual {error}"
        return
    yield difference(case["expect"], [_branch_json(b) for b in branches], "branches")
