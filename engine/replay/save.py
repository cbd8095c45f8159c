"""Makes the envelope of a match that was played."""

from __future__ import annotations

from collections.abc import Sequence

from ..definition import Game
from ..machine import Machine, compile_game
from ..match_input import normalize_match_input
from ..playback import Place, play_record, start_record
from ..record import Record, RecordKind
from ..session import Session
from ..snapshot import Snapshot
from ..versions import Versions
from .envelope import Envelope, EnvelopeAction, create_envelope
from .recording import (
    ACTION_IDS_KEY,
    ENVELOPE_MARK_EVERY,
    MARKS_KEY,
    EnvelopeMark,
    Recording,
    mark_of,
    recording_of,
)
from .replay_error import EnvelopeError

__all__ = ["save_log", "save_session"]


def save_session(
    session: Session,
    *,
    game_id: str | None = None,
    player_id: str | None = None,
    metadata: object = None,
) -> Envelope:
    """The envelope of a session's match. It tells all, as `save_log` says.

    Raises:
        EnvelopeError: `player_id` does not sit there, or `metadata` is not an object.
        ReplayError: The session began in the middle of a match.
    """
    return save_log(
        session.machine,
        session.log,
        game_id=game_id,
        player_id=player_id,
        metadata=metadata,
    )


def save_log(
    game: Game | Machine,
    records: Sequence[Record],
    *,
    game_id: str | None = None,
    player_id: str | None = None,
    metadata: object = None,
) -> Envelope:
    """The envelope of a match from its log, a session's or a host's.

    It holds the seed and every payload, whoever `player_id` is: that only says whose
    view a reader is shown first. So it is for those who may see everything.

    It is played back, for the turns. The profiles are those that the match was given,
    not as the game's `parse` made them, since a replay has them parsed again. Ids that
    are not those which a replay numbers are marked as such in the metadata.

    An envelope knows no takebacks: it holds the line that stands in the end, and not
    what was taken back, which the log keeps. Nor does it know what operators do: of a
    match that was edited or upgraded, or in which a seat was resigned out of turn,
    there is none; that one was terminated is left out.

    A long match is given snapshots in the metadata, one for every
    `ENVELOPE_MARK_EVERY` actions, from which a reader plays on; they are left out if
    there was a takeback.

    Raises:
        EnvelopeError: `player_id` does not sit there, `metadata` is not an object, or
            an operator changed the match.
        ReplayError: The log cannot be played back.
    """
    machine = game if isinstance(game, Machine) else compile_game(game)
    recording = recording_of(records)
    actions, marks = _actions(machine, recording)
    noted: dict[str, object] = {}
    if any(action.action_id != f"m_{n}" for n, action in enumerate(actions, start=1)):
        noted[ACTION_IDS_KEY] = "recorded"
    if marks:
        noted[MARKS_KEY] = [list(mark) for mark in marks]
    if noted and (metadata is None or isinstance(metadata, dict)):
        metadata = {**(metadata or {}), **noted}
    creation = recording.creation
    return create_envelope(
        game_id or machine.game.name,
        normalize_match_input(machine.game, creation.get("match")),
        actions,
        seed=creation.get("seed", ""),
        initial_now=records[0].time_ms,
        player_id=player_id,
        metadata=metadata,
    )


def _actions(
    machine: Machine, recording: Recording
) -> tuple[list[EnvelopeAction], list[EnvelopeMark]]:
    marks: list[EnvelopeMark] = []
    straight = True  # no takeback so far: then revisions are those of the log
    versions = Versions(machine)
    place = Place(machine, start_record(machine, recording.records[0], named=False))
    actions: list[EnvelopeAction] = []
    found: list[int] = []  # the revision before each
    for index in range(1, len(recording.records)):
        record, before = recording.records[index], place.snapshot.revision
        _check_plain(record, place.snapshot)
        batch, place = play_record(place, index, record, versions)
        if batch is None or record.kind is RecordKind.TERMINATE:
            continue
        if record.kind is RecordKind.TAKEBACK:
            straight = False
            while record.input["phase"] == "done" and found:
                if found[-1] < record.input["to"]:
                    break
                found.pop()
                actions.pop()
            continue
        found.append(before)
        made = batch.steps[0].event
        actions.append(
            EnvelopeAction(
                made.action_id,
                made.at,
                made.event,
                made.payload,
                made.player_id,
                made.turn,
                "timeout" if made.type == "timeout" else "event",
            )
        )
        if straight and len(actions) % ENVELOPE_MARK_EVERY == 0:
            marks.append(mark_of(len(actions), place.snapshot))
    return actions, marks if straight else []


def _check_plain(record: Record, before: Snapshot) -> None:
    """Refuse what would be lost, or refused when the envelope is played."""
    given, changed = record.input, record.kind in (RecordKind.EDIT, RecordKind.UPGRADE)
    if "operator" in given and given["seat"] not in before.derived.active_players:
        changed = True
    if changed:
        raise EnvelopeError(
            "actions",
            f"cannot hold record {record.index}, which is an operator's {record.kind}: "
            "export the log instead",
        )
