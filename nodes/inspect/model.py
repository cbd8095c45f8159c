"""What the inspector looks at: a revision, a seat to see it as, and how it plays.

It knows no terminal. A saved match is looked at as it is; a match that goes on is
`growing`, and while nobody has moved away from its newest revision it is followed.
Nothing is played that is not looked at: an envelope's last revision is unknown until
somebody goes there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from ...engine.errors import ReplayError
from ...engine.inspector.inspector import InspectedFrame, Inspector, SeenFrame
from ...engine.inspector.playback_state import (
    Command,
    InspectorState,
    Pause,
    Play,
    PlayTick,
    ReturnToLive,
    SelectRevision,
    SetMode,
    SetSpeed,
    SyncLiveHead,
    reduce_state,
)
from ...engine.record import Record, RecordKind
from ...engine.replay.frame import Frame
from ...engine.replay.timeline import Timeline
from ...engine.snapshot import Snapshot
from ...engine.step import StepKind

__all__ = ["SPEEDS", "InspectModel", "Row"]

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Row(msgspec.Struct, frozen=True):
    """One line of the timeline."""

    revision: int
    turn: int
    kind: StepKind | Literal["initial"]
    event: str
    seat: str
    state: str
    selected: bool


class InspectModel:
    """One match under inspection. Commands are methods; none of them raises.

    What a command could not do is in `notice`, until the next command.
    """

    def __init__(
        self, timeline: Timeline, *, growing: bool = False, revision: int | None = None
    ) -> None:
        self.timeline = timeline
        self.inspector = Inspector(timeline)
        self.seats: tuple[str, ...] = tuple(
            timeline.frame(0).snapshot.meta.match["players"]
        )
        self.view_seat: str | None = timeline.seat
        self.filter_seat: str | None = None
        self.growing = growing
        self.notice = ""
        self.state = InspectorState(mode="live" if growing else "replay")
        self._end: int | None = None
        self._chosen: list[int] = []  # revisions of the filter's seat,
        self._chosen_from = 0  # found in so many records
        if growing:
            self._reduce(SyncLiveHead(timeline.head))
        if revision is not None:
            self.jump(revision)

    @property
    def revision(self) -> int:
        """The revision that is shown."""
        return self.state.selected_revision

    @property
    def head(self) -> int | None:
        """The newest revision, as far as it is known."""
        if self.timeline.recording.revisions is not None:
            return self.timeline.head
        return self._end

    @property
    def following(self) -> bool:
        """Whether the next revision will be shown when it comes."""
        return self.growing and self.state.mode == "live"

    def frame(self) -> Frame:
        """The frame that is shown.

        Raises:
            ReplayError: The match cannot be played back so far.
        """
        return self.timeline.frame(self.revision)

    def inspected(self) -> InspectedFrame:
        """Everything about the frame that is shown.

        Raises:
            ReplayError: The match cannot be played back so far.
        """
        return self.inspector.frame(self.revision)

    def seen(self) -> SeenFrame:
        """What the seat of the view may see of it.

        Raises:
            ReplayError: The match cannot be played back so far.
            ViewError: The game's view failed.
        """
        return self.inspector.seen(self.revision, self.view_seat)

    def rows(self, height: int) -> list[Row]:
        """The lines of the timeline around the revision that is shown.

        They end early where the match cannot be played back.
        """
        if self.filter_seat is None:
            first = max(0, self.revision - height // 2)
            last = self._reach(first + height - 1)
            shown: Sequence[int] = range(max(0, last - height + 1), last + 1)
        else:
            place = bisect_left(self._chosen, self.revision)
            first = min(place - height // 2, len(self._chosen) - height)
            shown = self._chosen[max(0, first) :][:height]
        rows = []
        for revision in shown:
            try:
                rows.append(self._row(self.timeline.frame(revision)))
            except ReplayError as error:
                self.notice = str(error)
                break
        return rows

    def move(self, by: int) -> None:
        """So many revisions on, or back; with a filter, so many of its seat."""
        self.notice = ""
        if self.filter_seat is None:
            self._select(max(0, self.revision + by))
            return
        if by > 0:
            place = bisect_right(self._chosen, self.revision) + by - 1
        else:
            place = bisect_left(self._chosen, self.revision) + by
        if self._chosen:
            self._select(self._chosen[max(0, min(place, len(self._chosen) - 1))])

    def start(self) -> None:
        """To the creation."""
        self.notice = ""
        self._select(0)

    def end(self) -> None:
        """To the newest revision; a match that goes on is followed from here."""
        self.notice = ""
        try:
            self._end = self.timeline.head
        except ReplayError as error:
            self._end = self._before(error)
        self._select(self._end)

    def jump(self, revision: int) -> None:
        """To a revision."""
        self.notice = ""
        found = self._reach(max(0, revision))
        if found != revision and not self.notice:
            self.notice = f"there is no revision {revision}; the last one is {found}"
        self._select(found)

    def jump_to_turn(self, turn: int) -> None:
        """To the first revision of a turn."""
        self.notice = ""
        try:
            found = self.timeline.first_of_turn(turn)
        except ReplayError as error:
            self.notice = str(error)
            return
        if found is None:
            self.notice = f"there is no turn {turn}"
        else:
            self._select(found)

    def next_turn(self) -> None:
        """To where the turn changes next; a takeback changes it too."""
        self.notice = ""
        try:
            now = self._turn(self.revision)
            for frame in self.timeline.frames(self.revision + 1):
                if frame.snapshot.position.turn != now:
                    self._select(frame.revision)
                    return
            self.notice = "there is no later turn"
        except ReplayError as error:
            self.notice = str(error)

    def previous_turn(self) -> None:
        """To the beginning of the turn before."""
        self.notice = ""
        try:
            last = self._turn_began(self.revision) - 1
            if last >= 0:
                self._select(self._turn_began(last))
            else:
                self.notice = "there is no earlier turn"
        except ReplayError as error:
            self.notice = str(error)

    def toggle_play(self) -> None:
        """Let the revisions run, from the creation if the end is shown; or stop."""
        self.notice = ""
        if self.state.is_playing:
            self._reduce(Pause())
            return
        shown = self.revision
        if self._reach(shown + 1) == shown and not self.notice:
            shown = 0
        self._reduce(SelectRevision(shown))
        self._reduce(Play())

    def tick(self) -> None:
        """Time for the next revision, while playing."""
        if not self.state.is_playing:
            return
        # It stops at the bound, so that is the last one only if there are no two more.
        self._reduce(PlayTick(self._reach(self.revision + 2)))
        if self.growing and self.revision == self.head:
            self._select(self.revision)

    def faster(self, by: int) -> None:
        """The next higher speed, or the next lower one."""
        self.notice = ""
        place = SPEEDS.index(self.state.speed) + by
        self._reduce(SetSpeed(SPEEDS[max(0, min(place, len(SPEEDS) - 1))]))

    def cycle_view(self, by: int = 1) -> None:
        """See it as the next seat; after the last one as a spectator."""
        self.notice = ""
        self.view_seat = self._next_seat(self.view_seat, by)

    def cycle_filter(self, by: int = 1) -> None:
        """Show the actions of the next seat alone; after the last one, everything."""
        self.notice = ""
        self.filter_seat = self._next_seat(self.filter_seat, by)
        self._chosen, self._chosen_from = [], 0
        self._choose()

    def grow(
        self,
        records: Sequence[Record],
        marks: Mapping[int, Callable[[], Snapshot]] | None = None,
    ) -> None:
        """Take in what the match has logged since. Follows it, if nobody moved away.

        Raises:
            ValueError: The records do not follow.
        """
        self.timeline.extend(records, marks)
        self._choose()
        if self.state.mode == "live":
            self._reduce(SyncLiveHead(self.timeline.head))

    def stop_growing(self) -> None:
        """The match is over, or nothing more is heard of it."""
        self.growing = False
        if self.state.mode == "live":
            self._reduce(SetMode("replay"))

    def _reduce(self, command: Command) -> None:
        self.state = reduce_state(self.state, command)

    def _select(self, revision: int) -> None:
        found = self._reach(revision)
        if self.growing and found == self.head:
            self._reduce(ReturnToLive())
            self._reduce(SyncLiveHead(found))
        else:
            self._reduce(SelectRevision(found))

    def _reach(self, revision: int) -> int:
        """The revision, or the last one before it that there is."""
        try:
            found = self.timeline.reach(revision)
        except ReplayError as error:
            return min(revision, self._before(error))
        if found < revision:
            self._end = found
        return found

    def _before(self, error: ReplayError) -> int:
        """The last revision before a record that cannot be played back."""
        self.notice = str(error)
        self._end = self.timeline.last_of_record(error.index - 1)
        return self._end

    def _turn(self, revision: int) -> int:
        return self.timeline.frame(revision).snapshot.position.turn

    def _turn_began(self, revision: int) -> int:
        """The first revision of the turn in which a revision is."""
        while revision > 0 and self._turn(revision - 1) == self._turn(revision):
            revision -= 1
        return revision

    def _next_seat(self, seat: str | None, by: int) -> str | None:
        around = (None, *self.seats)
        place = around.index(seat) if seat in around else 0
        return around[(place + by) % len(around)]

    def _row(self, frame: Frame) -> Row:
        step, position = frame.step, frame.snapshot.position
        return Row(
            revision=frame.revision,
            turn=position.turn,
            kind="initial" if step is None else step.kind,
            event="" if step is None else step.event.event,
            seat="" if step is None else step.event.player_id or "",
            state=position.name,
            selected=frame.revision == self.revision,
        )

    def _choose(self) -> None:
        """Find the revisions of the filter's seat: a log is not played for it."""
        if self.filter_seat is None:
            return
        recording = self.timeline.recording
        if recording.revisions is None:
            self._chosen = self._played_by(self.filter_seat)
            return
        for place in range(self._chosen_from, len(recording.records)):
            record = recording.records[place]
            acted = record.kind in (RecordKind.ACTION, RecordKind.TAKEBACK)
            if acted and record.input.get("seat") == self.filter_seat:
                self._chosen.append(self.timeline.first_of_record(place))
        self._chosen_from = len(recording.records)

    def _played_by(self, seat: str) -> list[int]:
        found: list[int] = []
        try:
            for frame in self.timeline.frames():
                if frame.step is not None and frame.step.event.player_id == seat:
                    found.append(frame.revision)
        except ReplayError as error:
            self.notice = str(error)
        return found
