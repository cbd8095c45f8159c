"""What a player was told, and whether it was true.

Each seat keeps an account of its own: the views it saw, the actions that were
acknowledged, and those whose outcome it never learned. When the match has ended,
`judge` replays the log with the engine and holds every account against it: each
acknowledged action must stand in it, and each view must be what that revision shows.

Pure. A fault is a sentence; an empty list means that nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...engine.digest import digest_of
from ...engine.errors import EngineError
from ...engine.frozen import freeze
from ...engine.machine import Machine
from ...engine.record import Record, RecordKind
from ...runtime.match import replay_states
from ...runtime.match_state import MatchState
from ..client.view import View

__all__ = ["Account", "judge"]

FAULTS_MAX = 20
"""Kept per account and per verdict: the first ones tell what is wrong."""


@dataclass(frozen=True, slots=True)
class _Acted:
    """An action as this seat sent it; `revision` and `index` as acknowledged."""

    event: str
    payload: Any
    revision: int | None = None
    index: int | None = None


class Account:
    """What one seat (or spectator: seat "") was told about one match."""

    def __init__(self, seat: str, session: int = 0) -> None:
        self.seat = seat
        self.session = session
        self.last: View | None = None
        self.faults: list[str] = []
        self._views: dict[int, bytes] = {}  # digests of what was seen, by revision
        self._acknowledged = 0  # highest revision that was acknowledged to us
        self._actions: dict[int, _Acted] = {}

    @property
    def acknowledged(self) -> int:
        """Actions whose acceptance this seat knows of."""
        return sum(1 for acted in self._actions.values() if acted.index is not None)

    def saw(self, view: View, *, fresh: bool = False) -> None:
        """A view came. `fresh`: it was asked for after the last acknowledgement."""
        last = self.last
        if last is not None:
            if view.revision < last.revision:
                self._fault(
                    f"the view went back from revision {last.revision} "
                    f"to {view.revision}"
                )
            if view.revision == last.revision and not _same(view.view, last.view):
                self._fault(f"two different views of revision {view.revision}")
            if last.ended and view.revision > last.revision:
                self._fault(f"revision {view.revision} came after the end")
        if fresh and view.revision < self._acknowledged:
            self._fault(
                f"revision {self._acknowledged} was acknowledged, but a view asked "
                f"for after that was of {view.revision}"
            )
        if view.seat != self.seat:
            self._fault(f"a view of seat {view.seat!r} was sent to {self.seat!r}")
        self._views[view.revision] = _digest(view.view)
        self.last = view

    def accepted(
        self, action: int, event: str, payload: Any, *, revision: int, index: int
    ) -> None:
        """An action was acknowledged as committed."""
        if revision <= self._acknowledged:
            self._fault(
                f"action {action} was acknowledged at revision {revision}, after "
                f"one at {self._acknowledged}"
            )
        self._acknowledged = max(self._acknowledged, revision)
        self._actions[action] = _Acted(event, payload, revision, index)

    def unknown(self, action: int, event: str, payload: Any) -> None:
        """An action had no answer: it may be in the log, or not."""
        self._actions.setdefault(action, _Acted(event, payload))

    def compare(self, state: MatchState) -> None:
        """Hold the view of this state's revision, if it was seen, against the state."""
        seen = self._views.pop(state.revision, None)
        if seen is not None and seen != _digest(self._expected(state)):
            self._fault(f"the view of revision {state.revision} was not what it shows")

    def check(self, records: Sequence[Record], state: MatchState) -> list[str]:
        """Hold this account against a log and the state that it leads to.

        `compare` has been called with the state after each record.
        """
        faults = list(self.faults)
        faults += self._check_actions(records)
        if self._views:
            strays = sorted(self._views)[:5]
            faults.append(f"saw revisions that were never committed: {strays}")
        faults += self._check_last_view(state)
        return [f"seat {self.seat!r}: {fault}" for fault in faults[:FAULTS_MAX]]

    def _check_actions(self, records: Sequence[Record]) -> Iterable[str]:
        logged = {
            record.input["action"]: record
            for record in records
            if record.kind is RecordKind.ACTION
            and record.input["seat"] == self.seat
            and record.input.get("session") == self.session  # an operator has none
        }
        for action, acted in self._actions.items():
            record = logged.pop(action, None)
            if record is None:
                if acted.index is not None:
                    yield f"action {action} was acknowledged, but is not in the log"
                continue
            if acted.index not in (None, record.index):
                yield f"action {action} is record {record.index}, not {acted.index}"
            if acted.revision not in (None, record.revision_after):
                yield (
                    f"action {action} led to revision {record.revision_after}, "
                    f"not {acted.revision}"
                )
            given = record.input
            if given["event"] != acted.event or not _same(
                given["payload"], acted.payload
            ):
                yield f"action {action} stands in the log with other content"
        for action in sorted(logged):
            yield f"action {action} is in the log, but was refused or never sent"

    def _check_last_view(self, state: MatchState) -> Iterable[str]:
        last = self.last
        if last is None:
            yield "never saw a view"
            return
        if last.revision != state.revision:
            yield f"saw revision {last.revision} last; the log ends at {state.revision}"
            return
        expected, result = self._expected(state), state.snapshot.meta.result
        if not _same(last.view, expected):
            yield f"the last view is {last.view!r}, the replay's is {expected!r}"
        if not _same(last.result, result):
            yield f"the result is {last.result!r}, not {result!r}"

    def _expected(self, state: MatchState) -> Any:
        """What this seat may see of a state."""
        if self.seat:
            return state.machine.player_view(state.snapshot, self.seat)
        return state.machine.public_view(state.snapshot)

    def _fault(self, fault: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


def judge(
    machine: Machine, match: str, records: Sequence[Record], accounts: Iterable[Account]
) -> list[str]:
    """Replay a finished match's log and hold every account against it."""
    accounts = list(accounts)
    state: MatchState | None = None
    try:
        for state in replay_states(machine, records):
            for account in accounts:
                account.compare(state)
    except EngineError as error:
        return [f"the log does not replay: {error}"]
    if state is None:
        return ["the log is empty"]
    faults = []
    if state.match != match:
        faults.append(f"the log is of match {state.match}, not of {match}")
    if not state.ended:
        faults.append(f"the log ends at revision {state.revision}, without a result")
    for account in accounts:
        faults += account.check(records, state)
    return faults[:FAULTS_MAX]


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: what a trip over the wire may change makes no difference."""
    return _digest(one) == _digest(other)


def _digest(value: Any) -> bytes:
    return digest_of(freeze(value, label="view"))
