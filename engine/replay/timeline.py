"""A match that can be looked at at any revision.

Frames are made when they are looked at. The timeline keeps sparse snapshots, one for
every `MARK_EVERY` records that it has played, and plays on from the nearest one before
the frame that is wanted; the frames of the stretches looked at last are kept. So a
jump costs the way from the nearest snapshot, a step to a neighbour nothing.

Rules:
- Nothing is played before it is needed. A log knows the revision of each record, so it
  opens at once; how many frames an envelope has is known when it is played to its end.
- A record that cannot be played back is told when its frame is wanted. What comes
  before it can be looked at.
- Turns go back only where a game may be taken back: `first_of_turn` relies on it.
- The machine given plays what the log ends with; the versions before an upgrade are
  found, and frames say which one they are of.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from ..definition import Game
from ..errors import EngineError, ReplayError
from ..jsonvalue import Json
from ..machine import Machine, compile_game
from ..playback import Place, credit_of, play_record, start_record
from ..record import Record, RecordKind
from ..snapshot import Snapshot
from ..step import Batch
from ..versions import FindMachine, Versions, no_machines
from .envelope import Envelope
from .frame import Frame
from .late_records import LateRecords
from .recording import Recording, recording_of

__all__ = ["MARK_EVERY", "Timeline", "materialize", "open_timeline"]

# Records between two snapshots: a jump plays half as many on average, and a match of
# 10,000 records keeps 157 snapshots, which share what did not change.
MARK_EVERY: Final = 64

# Stretches whose frames are kept: a reader goes to and fro in one or two places.
_STRETCHES_KEPT: Final = 4


class _Stretch(msgspec.Struct):
    """The frames between two snapshots, and why there are no more of them."""

    frames: list[Frame]
    fault: ReplayError | None


class Timeline:
    """The frames of one match. Made by `open_timeline` or `materialize`."""

    def __init__(
        self, machine: Machine, recording: Recording, find: FindMachine = no_machines
    ) -> None:
        self.machine = machine
        self.recording = recording
        self.seat = recording.seat
        first, plays = machine, None
        if recording.upgrades:
            plays = recording.version_at(recording.upgrades[-1])
        self._versions = Versions(machine, find, plays=plays)
        if recording.upgrades:
            first = self._version_at(0)
        start = start_record(first, recording.records[0], named=False)
        self._first = Frame(start, None, recording.records[0], self._other(first))
        self._marks: dict[int, Place] = {0: Place(first, start)}
        self._stretches: OrderedDict[int, _Stretch] = OrderedDict()
        # What the marks led to, sorted by their number: those that came with the
        # recording, and those that were played. Only used without revisions.
        self._numbers = [0]
        self._reached = [start.revision]
        for place, revision in sorted(recording.mark_revisions.items()):
            if place in recording.marks and not place % MARK_EVERY:
                self._note(place // MARK_EVERY, revision)

    @property
    def game(self) -> Game:
        """The rules by which it is played back."""
        return self.machine.game

    @property
    def upgraded(self) -> bool:
        """Whether the match was played under more than one version."""
        return bool(self.recording.upgrades)

    @property
    def head(self) -> int:
        """The last revision. An envelope is played to its end for it.

        Raises:
            ReplayError: It cannot be played to its end.
        """
        if self.recording.revisions is not None:
            return self.recording.revisions[-1]
        return self._mark(self._marks_max).snapshot.revision

    def reach(self, revision: int) -> int:
        """The revision, or the last one before it that there is.

        Raises:
            ReplayError: It cannot be played so far.
        """
        if self.recording.revisions is not None:
            return min(revision, self.head)
        while (at := bisect_left(self._reached, revision)) == len(self._reached):
            if self._numbers[-1] == self._marks_max:
                return self._reached[-1]
            if self._passed_by(at - 1, revision):
                return revision
        while at and self._numbers[at - 1] + 1 < self._numbers[at]:
            if self._passed_by(at - 1, revision):
                return revision
            at = bisect_left(self._reached, revision)
        return revision

    def _passed_by(self, at: int, revision: int) -> bool:
        """Play the stretch after a known mark: whether a fault comes behind it."""
        stretch = self._stretch(self._numbers[at])
        if stretch.fault is None:
            return False
        if stretch.frames and stretch.frames[-1].revision >= revision:
            return True
        raise stretch.fault

    def frame(self, revision: int) -> Frame:
        """The match at a revision.

        Raises:
            LookupError: There is no such revision.
            ReplayError: It cannot be played so far.
        """
        if revision == 0:
            return self._first
        if revision < 0 or self.reach(revision) != revision:
            raise LookupError(f"there is no revision {revision}")
        number = self._stretch_of(revision)
        stretch = self._stretch(number)
        place = revision - self._mark(number).snapshot.revision - 1
        if place >= len(stretch.frames) and stretch.fault is not None:
            raise stretch.fault
        return stretch.frames[place]

    def frames(self, first: int = 0, last: int | None = None) -> Iterator[Frame]:
        """The frames from one revision to another, both included; to the end if None.

        Raises, from the iteration:
            ReplayError: A record cannot be played back.
        """
        revision = first
        while last is None or revision <= last:
            if self.reach(revision) != revision:
                return
            shown = [self.frame(revision)]
            if revision > 0:  # and what was played along with it
                shown = self._stretch(self._stretch_of(revision)).frames
            for frame in shown:
                if frame.revision == revision and (last is None or revision <= last):
                    yield frame
                    revision += 1

    def first_of_record(self, place: int) -> int:
        """The revision of the first step that a record caused.

        Raises:
            ReplayError: It cannot be played so far.
        """
        return 0 if place == 0 else self._left_by(place - 1) + 1

    def last_of_record(self, place: int) -> int:
        """The revision that a record led to.

        Raises:
            ReplayError: It cannot be played so far.
        """
        return self._left_by(place)

    def first_of_turn(self, turn: int) -> int | None:
        """The first revision of a turn; None if there is no such turn.

        Raises:
            ReplayError: It cannot be played so far.
        """
        if turn <= self._first.snapshot.position.turn:
            return 0 if turn == self._first.snapshot.position.turn else None
        returns = self.machine.game.undo is not None or self.upgraded
        number = max(
            (n for n in self._known_marks() if self._turn(n) < turn), default=0
        )
        for stretch in range(0 if returns else number, self._marks_max):
            if returns or self._turn(stretch + 1) >= turn:
                for frame in self._stretch(stretch).frames:
                    if frame.snapshot.position.turn >= turn:
                        found = frame.snapshot.position.turn == turn
                        return frame.revision if found else None
        return None

    def player_view(self, frame: Frame, seat: str | None = None) -> Json:
        """What a seat sees at a frame; by default that of the recording, if any.

        Raises:
            ViewError: The view raised or is not JSON.
        """
        seat = self.seat if seat is None else seat
        if seat is None:
            return None
        return (frame.machine or self.machine).player_view(frame.snapshot, seat)

    def extend(
        self,
        records: Sequence[Record],
        marks: Mapping[int, Callable[[], Snapshot]] | None = None,
    ) -> None:
        """Take in the next records of a log that goes on, and snapshots of them.

        Raises:
            ValueError: They do not follow the last one, or it is no log.
        """
        old = self.recording
        if old.revisions is None:
            raise ValueError("only a log can go on")
        for index, record in enumerate(records, start=len(old.records)):
            if record.index != index:
                raise ValueError(f"record {record.index} comes where {index} was due")
        if (len(old.records) - 1) % MARK_EVERY:  # the last stretch grows
            self._stretches.pop(self._marks_max - 1, None)
            self._marks.pop(self._marks_max, None)
        known = old.records
        if not isinstance(known, LateRecords):
            known = LateRecords(known)
        known.append(records)
        self.recording = Recording(
            known,
            revisions=(*old.revisions, *(each.revision_after for each in records)),
            marks={**old.marks, **(marks or {})},
            seat=old.seat,
            upgrades=[
                *old.upgrades,
                *(each.index for each in records if each.kind is RecordKind.UPGRADE),
            ],
        )

    def play(self) -> None:
        """Play it from its creation to its end, whatever snapshots came with it.

        Raises:
            ReplayError: A record cannot be played back; `index` says which.
        """
        place = self._marks[0]
        for number in range(self._marks_max):
            for index in self._records_of(number):
                _, place = self._play(place, index)
            self._keep(number + 1, place)

    @property
    def _marks_max(self) -> int:
        """The number of the mark after the last record."""
        return -(-(len(self.recording.records) - 1) // MARK_EVERY)

    def _known_marks(self) -> list[int]:
        given = (p // MARK_EVERY for p in self.recording.marks if self._helps(p))
        return [*self._marks, *given]

    def _left_by(self, place: int) -> int:
        if self.recording.revisions is not None:
            return self.recording.revisions[place]
        number, rest = divmod(place, MARK_EVERY)
        reached = self._mark(number)
        for index in range(place - rest + 1, place + 1):
            _, reached = self._play(reached, index)
        return reached.snapshot.revision

    def _stretch_of(self, revision: int) -> int:
        """The stretch in which a revision's frame is; it exists."""
        revisions = self.recording.revisions
        if revisions is not None:
            return (bisect_left(revisions, revision) - 1) // MARK_EVERY
        return self._numbers[bisect_left(self._reached, revision) - 1]

    def _stretch(self, number: int) -> _Stretch:
        found = self._stretches.get(number)
        if found is None:
            found = self._stretches[number] = self._filmed(number)
            while len(self._stretches) > _STRETCHES_KEPT:
                self._stretches.popitem(last=False)
        self._stretches.move_to_end(number)
        return found

    def _filmed(self, number: int) -> _Stretch:
        place = self._mark(number)
        frames: list[Frame] = []
        fault = None
        try:
            for index in self._records_of(number):
                batch, place = self._play(place, index)
                if batch is None:
                    continue
                record, other = (
                    self.recording.records[index],
                    self._other(place.machine),
                )
                frames += [
                    Frame(step.snapshot, step, record, other) for step in batch.steps
                ]
        except ReplayError as error:
            fault = error
        else:
            self._keep(number + 1, place)
        return _Stretch(frames, fault)

    def _turn(self, number: int) -> int:
        """The turn at the beginning of a stretch."""
        return self._mark(number).snapshot.position.turn

    def _mark(self, number: int) -> Place:
        """Where a stretch begins."""
        nearest = number
        while nearest not in self._marks:
            if self._helps(nearest * MARK_EVERY):
                machine = self._version_at(nearest * MARK_EVERY)
                given = self._given(machine, nearest * MARK_EVERY)
                credit_ms = self._credit(nearest)
                self._keep(nearest, Place(machine, given, credit_ms=credit_ms))
            else:
                nearest -= 1
        for passed in range(nearest, number):
            place = self._marks[passed]
            for index in self._records_of(passed):
                _, place = self._play(place, index)
            self._keep(passed + 1, place)
        return self._marks[number]

    def _keep(self, number: int, place: Place) -> None:
        self._marks[number] = place
        self._note(number, place.snapshot.revision)

    def _note(self, number: int, revision: int) -> None:
        at = bisect_left(self._numbers, number)
        if at == len(self._numbers) or self._numbers[at] != number:
            self._numbers.insert(at, number)
            self._reached.insert(at, revision)

    def _other(self, machine: Machine) -> Machine | None:
        """What a frame of that version says of it."""
        return None if machine is self.machine else machine

    def _version_at(self, place: int) -> Machine:
        """The machine under which the match goes on after a record.

        Raises:
            ReplayError: It is not at hand.
        """
        if not self.upgraded:
            return self.machine
        version = self.recording.version_at(place)
        machine = self._versions.get(version)
        if machine is None:
            name = self.machine.game.name
            raise ReplayError(
                place, f"it is of version {version!r} of {name}, which is not at hand"
            )
        return machine

    def _given(self, machine: Machine, place: int) -> Snapshot:
        """A snapshot that came with the recording."""
        try:
            snapshot = machine.restore(self.recording.marks[place]())
        except EngineError as error:
            why = f"the snapshot after record {place} does not fit: {error}"
            raise ReplayError(place, why) from error
        known = self.recording.revisions
        said = self.recording.mark_revisions if known is None else known
        if snapshot.revision != said[place]:
            raise ReplayError(place, f"the snapshot after record {place} is another's")
        return snapshot

    def _credit(self, number: int) -> int | float:
        """What had been credited to the match's clock where a stretch begins."""
        if not (self.machine.game.credit_outages or self.upgraded):
            return 0
        records = self.recording.records
        return credit_of(records[at] for at in range(number * MARK_EVERY + 1))

    def _helps(self, place: int) -> bool:
        """Whether it can be played on from the snapshot that came with a record.

        It does not say what can be taken back. So enough must be played before the
        next takeback that nothing from before the snapshot can be asked for. Nor can
        that be past an operator's record.
        """
        if place % MARK_EVERY or place not in self.recording.marks:
            return False
        if self.recording.revisions is None:
            return True  # an envelope knows no takebacks
        rule = self._version_at(place).game.undo
        records = self.recording.records
        wanted = 0 if rule is None else rule.back
        for index in range(place + 1, len(records)):
            if wanted == 0 or records[index].kind is RecordKind.TAKEBACK:
                break
            if records[index].kind in (RecordKind.EDIT, RecordKind.UPGRADE):
                return True
            wanted -= records[index].kind in (RecordKind.ACTION, RecordKind.TIMEOUT)
        return wanted == 0

    def _records_of(self, number: int) -> range:
        """The indexes of the records of a stretch."""
        first = number * MARK_EVERY + 1
        return range(first, min(first + MARK_EVERY, len(self.recording.records)))

    def _play(self, place: Place, index: int) -> tuple[Batch | None, Place]:
        record = self.recording.records[index]
        batch, reached = play_record(place, index, record, self._versions)
        known = self.recording.revisions
        after = reached.snapshot.revision
        if known is not None and after != known[index]:
            raise ReplayError(
                index, f"it leads to revision {after} now, not to {known[index]}"
            )
        return batch, reached


def open_timeline(
    game: Game | Machine,
    source: Envelope | Sequence[Record] | Recording,
    find: FindMachine = no_machines,
) -> Timeline:
    """Open a saved match without playing it: only its first frame is made.

    Of a match that was upgraded, `game` plays what it ends with; `find` gives the other
    versions.

    Raises:
        ReplayError: The match does not start under these rules, or the log is empty.
        DefinitionError: The states do not form a tree.
    """
    machine = game if isinstance(game, Machine) else compile_game(game)
    recording = source if isinstance(source, Recording) else recording_of(source)
    return Timeline(machine, recording, find)


def materialize(
    game: Game | Machine,
    source: Envelope | Sequence[Record] | Recording,
    find: FindMachine = no_machines,
) -> Timeline:
    """Open a saved match and play it to its end. See `open_timeline`.

    Raises:
        ReplayError: A record cannot be played back; `index` says which.
        DefinitionError: The states do not form a tree.
    """
    timeline = open_timeline(game, source, find)
    timeline.play()
    return timeline
