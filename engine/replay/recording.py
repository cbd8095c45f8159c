"""What a match is played back from: its records, wherever they come from.

A log has them as they were written. From an envelope they are made: the same kinds and
inputs, without digests, and without the revisions they lead to, which only playing can
tell. Both may hold snapshots to start from in the middle: they spare playing all that
comes before, and are believed until `verify` has played it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Final, TypeAlias

import msgspec

from ..digest import NO_DIGEST
from ..errors import ReplayError, SnapshotError
from ..frozen import EMPTY_DICT, FDict, enclose
from ..jsonvalue import Json
from ..limits import FULL_DIGEST_EVERY
from ..record import Record, RecordKind
from ..snapshot import Snapshot, snapshot_from_json, snapshot_to_json
from .envelope import Envelope, EnvelopeAction
from .lazy_sequence import LazySequence

__all__ = [
    "ACTION_IDS_KEY",
    "ENVELOPE_MARK_EVERY",
    "MARKS_KEY",
    "EnvelopeMark",
    "Recording",
    "mark_of",
    "recording_of",
]

ACTION_IDS_KEY: Final = "hotseat.actionIDs"
"""In an envelope's metadata: "recorded" if its ids are not numbered from `m_1`."""

MARKS_KEY: Final = "hotseat.marks"
"""In an envelope's metadata: a list of `EnvelopeMark`."""

ENVELOPE_MARK_EVERY: Final = FULL_DIGEST_EVERY
"""Actions between two marks of an envelope."""

EnvelopeMark: TypeAlias = tuple[int, int, str]
"""How many actions came before, the revision they led to, the snapshot as JSON text:
text, so that whoever opens the envelope need not look into those not needed."""

_UNKNOWN_REVISION: Final = -1


class Recording:
    """Records of one match from its creation on, and what helps to play them.

    `records` may be read lazily. `revisions` holds what each record led to; None when
    that is not known. `marks` gives snapshots by the index of the record that left
    them; `mark_revisions` what those led to, for whoever does not know the others.
    `upgrades` are the indexes of the upgrade records; None: they are looked for.
    """

    def __init__(
        self,
        records: Sequence[Record],
        *,
        revisions: Sequence[int] | None,
        marks: Mapping[int, Callable[[], Snapshot]] | None = None,
        mark_revisions: Mapping[int, int] | None = None,
        ids: Sequence[str | None] | None = None,
        seat: str | None = None,
        upgrades: Sequence[int] | None = None,
    ) -> None:
        self.records = records
        self.revisions = revisions
        self.marks = marks or {}
        self.mark_revisions = mark_revisions or {}
        self.seat = seat
        self._ids = ids
        self._upgrades = upgrades

    @cached_property
    def upgrades(self) -> Sequence[int]:
        """The indexes of the records by which the game's version changed."""
        if self._upgrades is not None:
            return self._upgrades
        return [r.index for r in self.records if r.kind is RecordKind.UPGRADE]

    def version_at(self, place: int) -> Json:
        """The version of the game after a record."""
        before = [at for at in self.upgrades if at <= place]
        if not before:
            return self.creation.get("version")
        return self.records[before[-1]].input.get("to")

    @property
    def creation(self) -> FDict:
        """What the match started from: game, version, match, seed."""
        return self.records[0].input

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The record of each action id, as recorded; the first of those alike."""
        ids = self._ids
        if ids is None:
            ids = [record.input.get("action_id") for record in self.records]
        pairs = [(name, place) for place, name in enumerate(ids) if name is not None]
        return dict(reversed(pairs))

    @property
    def last_action_id(self) -> str | None:
        """The id of the last action or timeout."""
        for place in range(len(self.records) - 1, 0, -1):
            name = self.action_id(place)
            if name is not None:
                return name
        return None

    def action_id(self, place: int) -> str | None:
        """The id under which a record was recorded."""
        if self._ids is not None:
            return self._ids[place]
        name: str | None = self.records[place].input.get("action_id")
        return name


def recording_of(source: Envelope | Sequence[Record]) -> Recording:
    """What is played back from an envelope, or from a log (a session's, a host's).

    Raises:
        ReplayError: The log is empty, or does not begin with the creation.
    """
    if isinstance(source, Envelope):
        return _from_envelope(source)
    if not source:
        raise ReplayError(0, "the log is empty")
    if source[0].kind is not RecordKind.CREATE:
        raise ReplayError(0, f"a log begins with the creation, not {source[0].kind}")
    revisions = [record.revision_after for record in source]
    return Recording(source, revisions=revisions)


def mark_of(actions: int, snapshot: Snapshot) -> EnvelopeMark:
    """Mark the state that so many actions led to."""
    text = msgspec.json.encode(snapshot_to_json(snapshot)).decode()
    return (actions, snapshot.revision, text)


def _from_envelope(envelope: Envelope) -> Recording:
    """Ids are numbered anew, as the reference does; the recorded ones are for seeking.

    Internal records are passed by: they follow from the others.
    """
    metadata = EMPTY_DICT if envelope.metadata is None else envelope.metadata
    kept = metadata.get(ACTION_IDS_KEY) == "recorded"
    actions = [action for action in envelope.actions if action.type != "internal"]

    def record(index: int) -> Record:
        if index == 0:
            return _creation(envelope)
        action = actions[index - 1]
        return _made(index, action.action_id if kept else f"m_{index}", action)

    marks = _marks(metadata, len(actions))
    return Recording(
        LazySequence(len(actions) + 1, record),
        revisions=None,
        marks={place: partial(_snapshot, text) for place, _, text in marks},
        mark_revisions={place: revision for place, revision, _ in marks},
        ids=[None, *(action.action_id for action in actions)],
        seat=envelope.player_id,
        upgrades=(),
    )


def _marks(metadata: FDict, actions: int) -> list[EnvelopeMark]:
    """The marks, which rise.

    Raises:
        ReplayError: They are none.
    """
    try:
        marks = msgspec.convert(metadata.get(MARKS_KEY, []), list[EnvelopeMark])
    except msgspec.ValidationError as error:
        raise ReplayError(0, f"metadata.{MARKS_KEY} is malformed: {error}") from error
    before = (0, 0)
    for place, revision, _ in marks:
        if not (before[0] < place <= actions and before[1] <= revision):
            raise ReplayError(0, f"metadata.{MARKS_KEY} does not rise at {place}")
        before = (place, revision)
    return marks


def _snapshot(text: str) -> Snapshot:
    try:
        return snapshot_from_json(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotError(f"this is not a snapshot: {error}") from error


def _creation(envelope: Envelope) -> Record:
    given = {
        "game": envelope.game_id,
        "version": None,
        "match": envelope.match,
        "seed": envelope.seed,
    }
    return _record(0, RecordKind.CREATE, envelope.initial_now, given)


def _made(number: int, name: str, action: EnvelopeAction) -> Record:
    if action.type == "timeout":
        return _record(number, RecordKind.TIMEOUT, action.at, {"action_id": name})
    given = {
        "action_id": name,
        "seat": action.player_id,
        "event": action.event,
        "payload": action.payload,
    }
    return _record(number, RecordKind.ACTION, action.at, given)


def _record(
    index: int, kind: RecordKind, at: int | float, given: Mapping[str, Json]
) -> Record:
    frozen: FDict = enclose(dict(given), label="the input of a record")
    return Record(index, kind, at, _UNKNOWN_REVISION, frozen, NO_DIGEST, NO_DIGEST)
