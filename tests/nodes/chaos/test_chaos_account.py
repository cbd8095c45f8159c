"""The account of a chaos run finds each kind of fault, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hotseat.engine.games.connect_four import game
from hotseat.engine.machine import compile_game
from hotseat.engine.record import Record, RecordKind
from hotseat.nodes.chaos.account import Copy, MatchAccount, Verdict
from hotseat.nodes.chaos.plan import ChaosPlan, Pace
from hotseat.nodes.chaos.run import ChaosRun
from hotseat.nodes.chaos.silence import Silences
from hotseat.nodes.client.view import View
from hotseat.runtime.command import Act, TakeSeat
from hotseat.runtime.match import create_match, decide
from hotseat.runtime.match_state import MatchState

MACHINE = compile_game(game)
COLUMNS = (3, 2, 3, 2, 3)


class Played:
    """A match of a few moves, and the account of players who were told all of it."""

    def __init__(self) -> None:
        change = create_match(
            MACHINE,
            match="m",
            epoch=1,
            creation="c",
            match_input={"players": ["0", "1"]},
            seed="seed",
            now_ms=0,
        )
        self.state: MatchState = change.state
        self.records: list[Record] = [change.record]
        self.account = MatchAccount("m")
        for seat in ("0", "1"):
            self._decide(TakeSeat(seat, drawn=seat * 32, offered="", fresh=False))
            self.account.seated(seat, 1)
        for number, column in enumerate(COLUMNS):
            self.move(str(number % 2), number // 2 + 1, column)

    def move(self, seat: str, action: int, column: int, *, told: bool = True) -> None:
        payload = {"column": column}
        self._decide(Act(seat, 1, action, "drop", payload, None))
        record = self.records[-1]
        assert record.kind is RecordKind.ACTION
        if told:
            self.account.accepted(
                (seat, 1, action),
                "drop",
                payload,
                revision=record.revision_after,
                index=record.index,
            )
            self.account.saw(self.view(seat))

    def view(self, seat: str, **changes: Any) -> View:
        state = self.state
        values: dict[str, Any] = {
            "match": "m",
            "seat": seat,
            "revision": state.revision,
            "turn": 1,
            "state": "",
            "active_players": (),
            "deadline_ms": None,
            "ended": False,
            "view": state.machine.player_view(state.snapshot, seat),
            "result": None,
            "legal": None,
        }
        return View(**(values | changes))

    def judged(self, records: Sequence[Record] | None) -> Verdict:
        verdict = Verdict()
        self.account.judge(records, MACHINE, verdict)
        return verdict

    def _decide(self, command: Any) -> None:
        decision = decide(self.state, command, 0)
        assert decision.change is not None, decision
        self.records.append(decision.change.record)
        self.state = decision.state


@pytest.fixture
def played() -> Played:
    return Played()


def test_a_match_as_it_was_told_is_clean(played: Played) -> None:
    """All is counted, and nothing is found."""
    verdict = played.judged(played.records)
    assert verdict.clean, verdict.faults
    assert (verdict.matches, verdict.actions_acked) == (1, len(COLUMNS))


def test_an_acknowledged_action_that_is_in_no_log_is_lost(played: Played) -> None:
    """Each one counts."""
    verdict = played.judged(played.records[:-2])
    assert verdict.lost == 2
    assert not verdict.clean


def test_a_match_that_is_gone_loses_all_that_was_acknowledged(played: Played) -> None:
    """No log at all is the worst log."""
    assert played.judged(None).lost == len(COLUMNS)


def test_an_action_that_stands_in_the_log_twice_is_doubled(played: Played) -> None:
    """Under one key: the sort of thing that dedupe is there for."""
    again = msgspec.structs.replace(played.records[-1], index=len(played.records))
    assert played.judged([*played.records, again]).doubled == 1


def test_an_action_at_another_place_is_reordered(played: Played) -> None:
    """An acknowledgement names a place in the log."""
    one, two = played.records[-2:]
    swapped = [
        *played.records[:-2],
        msgspec.structs.replace(two, index=one.index),
        msgspec.structs.replace(one, index=two.index),
    ]
    assert played.judged(swapped).reordered >= 2


def test_an_action_of_unknown_outcome_may_be_in_the_log(played: Played) -> None:
    """Either is right; one that was never sent is not."""
    played.move("1", 3, 6, told=False)
    assert played.judged(played.records).strange == 1
    played = Played()
    played.account.unknown(("1", 1, 3), "drop", {"column": 6})
    assert played.judged(played.records).clean
    played.move("1", 3, 6, told=False)
    assert played.judged(played.records).clean
    assert played.judged(played.records).outcomes_unknown == 1


def test_a_view_that_goes_back_is_counted(played: Played) -> None:
    """Whatever it shows."""
    played.account.saw(played.view("0", revision=1))
    assert played.judged(played.records).views_back == 1


def test_a_view_of_what_was_never_committed_is_strange(played: Played) -> None:
    """And so is one that shows another state than the log leads to."""
    played.account.saw(played.view("0", revision=99))
    assert played.judged(played.records).strange == 1
    other = Played()
    other.account.saw(other.view("1", view={"columns": []}))
    assert other.judged(other.records).strange == 1


def test_a_log_that_does_not_replay_is_strange(played: Played) -> None:
    """Its digests are checked by playing it."""
    broken = [msgspec.structs.replace(played.records[0], digest=b"x" * 16)]
    assert played.judged(broken + played.records[1:]).strange == 1


def test_a_copy_that_differs_or_is_behind_diverges(played: Played) -> None:
    """All are at rest when they are compared."""
    right, verdict = Copy(8, b"a"), Verdict()
    copies = {"n1": right, "n2": right, "n3": Copy(8, b"b")}
    played.account.compare(copies, "n1", verdict)
    assert (verdict.diverged, verdict.copies_compared) == (1, 2)
    played.account.compare({"n1": right, "n2": Copy(7, b"a")}, "n1", verdict)
    assert verdict.diverged == 2
    assert "n2" in verdict.faults[-1]


def test_silence_runs_from_the_fault_to_the_first_acknowledgement() -> None:
    """A match counts once per fault, and one that is still silent is told."""
    silences = Silences()
    first = silences.struck(["a", "b", "c", "d"], 10.0)
    for match, at_s in (("a", 10.1), ("a", 10.9), ("b", 10.3), ("other", 11.0)):
        silences.acknowledged(match, at_s)
    silences.dropped("d")
    found = silences.of([first])
    assert (found.matches, found.unbroken) == (2, 1)
    assert found.p50_s == pytest.approx(0.1)
    assert found.max_s == pytest.approx(0.3)
    assert found.to_json() == {"p50": 100.0, "p99": 300.0, "max": 300.0}


def test_a_match_that_stays_silent_through_a_second_fault_counts_from_the_first() -> (
    None
):
    """Its players have waited since then."""
    silences = Silences()
    first, second = silences.struck(["a"], 1.0), silences.struck(["a", "b"], 5.0)
    silences.acknowledged("a", 6.0)
    silences.acknowledged("b", 6.0)
    assert silences.of([first]).max_s == pytest.approx(5.0)
    assert silences.of([second]).max_s == pytest.approx(1.0)
    assert silences.of([first, second]).matches == 2
    assert silences.of([]).matches == silences.waiting == 0


def test_planned_times_do_not_wait_for_answers() -> None:
    """What could not be kept is made up for by one action, and counted."""
    pace = Pace(2.0, 0.5)
    pace.begin(100.0)
    assert pace.next_s == pytest.approx(100.5)
    pace.taken(100.6)
    assert pace.next_s == pytest.approx(102.5)
    pace.hurry(101.0)
    assert pace.next_s == pytest.approx(101.0)
    pace.taken(101.2)
    assert pace.next_s == pytest.approx(102.5)  # what was planned stays
    pace.taken(110.0)
    assert pace.next_s == pytest.approx(110.5)
    assert pace.missed == 3


def test_a_match_that_cannot_be_played_on_is_no_clean_end() -> None:
    """A takeover that sets matches apart loses nothing, and must not pass for one that
    works; a match that has ended is none of these."""
    table: Any = SimpleNamespace(match=SimpleNamespace(id="m"))
    cluster: Any = None
    run = ChaosRun(ChaosPlan(), cluster)
    run.ended_at(table)
    assert run.verdict.clean
    run.ended_at(table, "quarantined")
    assert not run.verdict.clean
    assert run.verdict.faults == ["match m could not be played on: quarantined"]
