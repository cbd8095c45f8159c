"""Operators among players, retries and clocks: a match's promises still hold."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from msgspec.structs import replace

from hotseat.engine.game import Game
from hotseat.engine.playback import replay_log
from hotseat.engine.record import RecordKind
from hotseat.engine.replay.log_file import read_log_file, write_log_file
from hotseat.engine.replay.timeline import open_timeline
from hotseat.engine.replay.verify import verify_log
from hotseat.runtime.command import (
    Act,
    Answer,
    Applied,
    Edit,
    Intervention,
    ResignSeat,
    TakeBack,
    TakeSeat,
    Terminate,
    Upgrade,
)
from hotseat.runtime.interventions import REMEMBERED_OPS_MAX
from hotseat.runtime.match import decide, replay_match
from hotseat.runtime.match_codec import pack_state, unpack_state
from hotseat.runtime.record_codec import pack_record, unpack_record

from .test_match_machine import TOKENS, MatchMachine, seats, times
from .vault import FIRST, SECOND, find, vault

FIXED = vault("1.1", factor=3)
BOTH_WAYS = vault(
    "3",
    migrate=lambda G, version: {
        "total": G.get("total", G.get("sum")),
        "secret": G["secret"],
        "turn_ms": G["turn_ms"],
    },
)
GAMES: tuple[Game, ...] = (FIRST, SECOND, FIXED, BOTH_WAYS)
FIND = find(*GAMES)

ops = st.integers(0, 60)
patches: st.SearchStrategy[list[Any]] = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove", "copy", "test"]),
            "path": st.sampled_from(
                ["/total", "/sum", "/secret", "/turn_ms", "/more", "/more/-"]
            ),
            "from": st.sampled_from(["/total", "/secret", "/more"]),
            "value": st.sampled_from([0, 7, 900, "x", [], None]),
        }
    ),
    max_size=3,
)


class OperatorMachine(MatchMachine):
    """Commands of operators, fresh and again, among everything else.

    After each, the state takes a trip through bytes.
    """

    game = FIRST

    def __init__(self) -> None:
        super().__init__()
        self.done: dict[str, tuple[Intervention, Applied]] = {}
        for seat, token in TOKENS.items():
            self.decide(TakeSeat(seat, token), 0)

    def decide(self, command: Any, now_ms: int) -> Answer:
        before = self.state
        decision = decide(before, command, now_ms, FIND)
        if decision.change is None:
            assert decision.state is before
        else:
            record = decision.change.record
            assert record.index == len(self.records)
            packed = pack_record(record)
            assert unpack_record(packed) == record
            self.records.append(unpack_record(packed))
        self.state = unpack_state(pack_state(decision.state), FIND)
        assert self.state == decision.state
        return decision.answer

    def intervene(self, asked: Intervention, now_ms: int) -> None:
        logged, before = len(self.records), self.state
        answer = self.decide(asked, now_ms)
        if not isinstance(answer, Applied):
            return
        if asked.op in self.done:
            assert (asked, answer) == self.done[asked.op]
            assert self.state == before
            return
        self.done[asked.op] = (asked, answer)
        assert len(self.records) == logged + 1
        assert answer.index == logged
        if not isinstance(asked, ResignSeat):
            assert answer.revision == before.revision + 1
            assert self.state.snapshot.position.turn == before.snapshot.position.turn

    @rule(op=ops, patch=patches, base=st.none() | st.integers(0, 9), now_ms=times)
    def edit(self, op: int, patch: Any, base: int | None, now_ms: int) -> None:
        self.intervene(Edit(f"{op:03}", "ann", "", patch, False, base), now_ms)

    @rule(total=st.integers(0, 99), now_ms=times)
    def edit_well(self, total: int, now_ms: int) -> None:
        name = "sum" if self.state.machine.game is SECOND else "total"
        patch = [{"op": "add", "path": f"/{name}", "value": total}]
        self.intervene(Edit(self._fresh(), "ann", "", patch), now_ms)

    @rule(now_ms=times)
    def undo_an_edit(self, now_ms: int) -> None:
        edited, before = self.state.interventions.edited, self.state
        self.intervene(Edit(self._fresh(), "ann", "", undo=True), now_ms)
        if edited is not None and not before.ended:
            assert edited.revision == before.revision
            assert self.state.snapshot.G == edited.G

    @rule(to=st.sampled_from(["1", "2", "1.1", "3", "4"]), now_ms=times)
    def upgrade(self, to: str, now_ms: int) -> None:
        known, before = self.state.interventions.upgraded, self.state
        self.intervene(Upgrade(self._fresh(), "ann", "", to), now_ms)
        undone = known is not None and known.version == to and not before.ended
        if known is not None and undone:
            assert list(self.state.snapshot.G.items()) == list(known.G.items())

    @rule(seat=st.sampled_from(["0", "1", "2"]), op=ops, now_ms=times)
    def resign(self, seat: str, op: int, now_ms: int) -> None:
        if op % 10 == 0:
            self.intervene(ResignSeat(f"{op:03}", "ann", "", seat), now_ms)

    @rule(op=ops, now_ms=times)
    def terminate(self, op: int, now_ms: int) -> None:
        if op % 10 == 0:
            self.intervene(Terminate(f"{op:03}", "ann", "enough"), now_ms)

    @rule(back=st.integers(1, 10), now_ms=times)
    def command_again(self, back: int, now_ms: int) -> None:
        known = list(self.done.values())
        if len(known) >= back:
            asked, answer = known[-back]
            remembered = {done.op for done in self.state.interventions.ops}
            before = self.state
            again = self.decide(asked, now_ms)
            assert (again == answer) is (asked.op in remembered)
            assert self.state == before

    @rule(seat=seats, now_ms=times)
    def take_back(self, seat: str, now_ms: int) -> None:
        newest = self.state.seats[seat].window.sessions[-1]
        asked = TakeBack(seat, newest.number, newest.highest + 1, "ask")
        if not isinstance(self.decide(asked, now_ms), Applied):
            return
        to = self.records[-1].input["to"]
        for record in reversed(self.records[:-1]):
            if record.revision_after <= to:
                break
            assert record.kind not in (RecordKind.EDIT, RecordKind.UPGRADE)

    @rule(seat=seats, now_ms=times)
    def add(self, seat: str, now_ms: int) -> None:
        newest = self.state.seats[seat].window.sessions[-1]
        act = Act(seat, newest.number, newest.highest + 1, "add", 1)
        self.sent.append(act)
        self.act(act, now_ms)

    def _fresh(self) -> str:
        return f"9{len(self.records):05}"

    @invariant()
    def what_is_remembered_is_bounded_and_stands_in_the_log(self) -> None:
        known = self.state.interventions
        assert len(known.ops) <= REMEMBERED_OPS_MAX
        for done in known.ops:
            given = self.records[done.index].input
            assert given.get("operator", given)["op"] == done.op
        logged = [
            record.index
            for record in self.records
            if "op" in record.input or "operator" in record.input
        ]
        assert logged == sorted(answer.index for _, answer in self.done.values())

    def teardown(self) -> None:
        assert replay_match(self.machine, self.records, FIND) == self.state
        session = replay_log(self.game, self.records, FIND)
        assert session.snapshot == self.state.snapshot
        assert session.machine is self.state.machine
        assert session.digest == self.state.digest
        log = read_log_file(write_log_file(self.records, self.machine, FIND))
        assert verify_log(self.machine, log, FIND) == len(self.records)
        timeline = open_timeline(self.state.machine, log.recording(), FIND)
        assert timeline.head == self.state.revision
        last = timeline.frame(timeline.head)
        assert replace(last.snapshot, derived=self.state.snapshot.derived) == (
            self.state.snapshot
        )
        for frame in timeline.frames():
            machine = frame.machine or timeline.machine
            assert machine.public_view(frame.snapshot) is not None


OperatorMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestOperators = OperatorMachine.TestCase
# What is imported to be extended is run by its own file.
del MatchMachine
