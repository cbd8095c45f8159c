"""The outbox of results: each is told, again and again if need be, within bounds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from hotseat.engine.machine import compile_game
from hotseat.runtime.command import Act, Applied, Denied, Noted, NoteDelivered, TakeSeat
from hotseat.runtime.hosting.outbox import NOTE_AGAIN_MS, Delivery, ResultOutbox
from hotseat.runtime.hosting.result_options import ResultOptions
from hotseat.runtime.journal import MatchLine
from hotseat.runtime.match import create_match, decide, replay_match
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.testing.check_journal import line

from .sample_games import PLAYERS, race


class Desk:
    """An outbox at a clock that the test sets; a failure waits as long as can be."""

    def __init__(self, options: ResultOptions, lines: list[MatchLine]) -> None:
        self.now_ms = 0
        self.woken = 0
        self.lines = lines
        self.outbox = ResultOutbox(
            options,
            self.lines_of,
            now_ms=lambda: self.now_ms,
            random=lambda: 1.0,
            wake=self.wake,
        )

    def lines_of(self, shard: int) -> Iterator[MatchLine]:
        return iter([one for one in self.lines if one.shard == shard])

    def wake(self) -> None:
        self.woken += 1

    def take(self) -> list[str]:
        """The matches that are due now."""
        return [delivery.match for delivery in self.outbox.take()]

    def wait(self) -> int:
        """Until the outbox has something to do; how long that is."""
        due_ms = self.outbox.next_ms()
        assert due_ms is not None
        waited = max(0, due_ms - self.now_ms)
        self.now_ms += waited
        return waited


def desk(*lines: MatchLine, options: ResultOptions | None = None) -> Desk:
    """An outbox that serves shard 1."""
    made = Desk(options or ResultOptions(), list(lines))
    made.outbox.adopt(1)
    return made


def over(match: str, shard: int = 1) -> MatchLine:
    """The line of a match that ended and was not reported."""
    return replace(line(match, shard), ended=True)


def ended(match: str = "m") -> MatchState:
    """A match that was won."""
    state = create_match(
        compile_game(race(goal=1)),
        match=match,
        epoch=1,
        creation="c",
        match_input=PLAYERS,
        seed="s",
        now_ms=0,
    ).state
    state = decide(state, TakeSeat("0", "0" * 32), 0).state
    decision = decide(state, Act("0", 1, 1, "add", 1), 5)
    assert isinstance(decision.answer, Applied)
    assert decision.state.ended
    return decision.state


def test_who_takes_over_finds_what_is_owed() -> None:
    """Of all lines those that ended without a report; not what is set apart or gone."""
    found = desk(
        over("a"),
        line("goes-on"),
        replace(over("told"), reported=True),
        replace(over("buried"), buried=True),
        replace(over("apart"), quarantined="divergent"),
        over("elsewhere", shard=2),
        over("b"),
    )
    assert found.take() == ["a", "b"]
    assert found.take() == []
    assert found.outbox.next_ms() is None


def test_a_long_manifest_is_looked_at_in_turns() -> None:
    """However many matches have ended long ago, no turn looks at all of them."""
    told = [replace(over(f"t{number}"), reported=True) for number in range(1000)]
    found = desk(*told, over("z"))
    turns = 0
    while not found.take():
        found.wait()
        turns += 1
    assert turns == 3


def test_an_ending_is_due_when_it_is_committed() -> None:
    """At once, once, and only where its shard is served."""
    state = ended()
    found = desk()
    assert found.take() == []
    before = found.woken
    found.outbox.took(2, state)
    assert found.take() == []
    found.outbox.took(1, state)
    found.outbox.took(1, state)
    assert found.woken == before + 1
    assert found.take() == ["m"]


def test_a_failure_is_tried_again_later_and_later() -> None:
    """The pause doubles up to the limit; other results do not wait for it."""
    found = desk(over("a"), options=ResultOptions(retry_first_s=1, retry_max_s=60))
    pauses = []
    for failures in range(1, 10):
        assert found.take() == ["a"]
        assert found.outbox.failed("a") == failures
        pauses.append(found.wait())
    assert pauses == [1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000]
    assert found.take() == ["a"]
    found.outbox.failed("a")
    found.outbox.took(1, ended("b"))
    assert found.take() == ["b"]
    statistics = found.outbox.statistics()
    assert (statistics.waiting, statistics.failing, statistics.failures) == (2, 1, 10)
    assert statistics.oldest_s == sum(pauses) / 1000


def test_pauses_are_jittered() -> None:
    """Never less than half of it, so that receivers are not asked by all at once."""
    found = desk(over("a"), options=ResultOptions(retry_first_s=10))
    found.outbox._random = lambda: 0.0
    found.take()
    found.outbox.failed("a")
    assert found.wait() == 5000


def test_it_is_done_when_the_log_says_so() -> None:
    """Until then the log is asked again, but no sink is."""
    found = desk(over("m"))
    assert found.outbox.take() == [Delivery("m", told=False)]
    found.outbox.delivered("m")
    assert found.wait() == NOTE_AGAIN_MS
    assert found.outbox.take() == [Delivery("m", told=True)]
    found.outbox.took(1, replace(ended(), reported=True))
    found.outbox.delivered("m")
    assert found.outbox.next_ms() is None
    statistics = found.outbox.statistics()
    assert (statistics.waiting, statistics.delivered) == (0, 1)
    assert statistics.under_way == 0


def test_few_are_under_way_at_once() -> None:
    """The next leaves when one is back."""
    found = desk(*(over(f"m{n}") for n in range(9)), options=ResultOptions(at_once=2))
    assert found.take() == ["m0", "m1"]
    assert found.take() == []
    assert found.outbox.next_ms() is None
    found.outbox.void("m0")
    assert found.take() == ["m2"]


def test_what_has_no_room_is_found_later() -> None:
    """Memory is bounded, and no result is forgotten."""
    names = [f"m{number:03}" for number in range(50)]
    found = desk(options=ResultOptions(waiting_max=4, at_once=4))
    for name in names:
        found.outbox.took(1, ended(name))
        found.lines.append(over(name))
        assert found.outbox.statistics().waiting <= 4
    told: set[str] = set()
    for _ in range(1000):
        for name in found.take():
            told.add(name)
            found.lines.remove(over(name))
            found.outbox.took(1, replace(ended(name), reported=True))
        if found.outbox.next_ms() is None:
            break
        found.wait()
    assert told == set(names)


def test_a_shard_that_left_is_told_by_another() -> None:
    """Nothing of it stays, nor does what is under way come back."""
    found = desk(over("a"), over("b"))
    assert found.take() == ["a", "b"]
    found.outbox.failed("b")
    found.outbox.release(1)
    assert found.outbox.statistics().waiting == 0
    found.outbox.delivered("a")
    assert found.outbox.next_ms() is None
    assert found.outbox.statistics().under_way == 0
    found.outbox.adopt(1)
    assert found.take() == ["a", "b"]


def test_the_log_says_it_once() -> None:
    """A second note changes nothing; the record replays; the match stays as it was."""
    before = ended()
    decision = decide(before, NoteDelivered(before.index), 9)
    assert decision.answer == Noted(True)
    assert decision.change is not None
    state = decision.state
    assert state.reported
    assert (state.index, state.snapshot) == (before.index + 1, before.snapshot)
    for index in (before.index, state.index):
        again = decide(state, NoteDelivered(index), 9)
        assert (again.answer, again.change) == (Noted(False), None)
    assert isinstance(decide(state, Act("0", 1, 2, "add", 1), 9).answer, Denied)


def test_a_log_with_a_note_replays() -> None:
    """From its records alone, and not before the match is over."""
    machine = compile_game(race(goal=1))
    change = create_match(
        machine,
        match="m",
        epoch=1,
        creation="c",
        match_input=PLAYERS,
        seed="s",
        now_ms=0,
    )
    state, records = change.state, [change.record]
    early = decide(state, NoteDelivered(state.index), 0)
    assert (early.answer, early.change) == (Noted(False), None)
    for command in (TakeSeat("0", "0" * 32), Act("0", 1, 1, "add", 1)):
        decision = decide(state, command, 0)
        assert decision.change is not None
        records.append(decision.change.record)
        state = decision.state
    noted = decide(state, NoteDelivered(state.index), 3)
    assert noted.change is not None
    assert replay_match(machine, [*records, noted.change.record]) == noted.state


@pytest.mark.parametrize(
    "options",
    [
        ResultOptions(timeout_s=0),
        ResultOptions(retry_first_s=9, retry_max_s=8),
        ResultOptions(webhook="ftp://nowhere"),
        ResultOptions(at_once=-1),
    ],
)
def test_options_that_cannot_be_are_told(options: ResultOptions) -> None:
    """One sentence for each fault."""
    assert len(options.validate()) == 1
    assert ResultOptions().validate() == ()
