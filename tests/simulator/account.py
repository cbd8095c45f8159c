"""The clients' account: what they were answered, and when.

Everything here was seen by a client. It is held against the committed history at
once, and at the end.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hotseat.runtime.command import Applied
from hotseat.runtime.frame import Accepted, Created, Refused, ViewUpdate

from .history import History, Key
from .violation import Violation

if TYPE_CHECKING:
    from .client import Player, Question
    from .world import World

__all__ = ["Account"]


class Account:
    """Of all clients of a world."""

    def __init__(self, world: World, history: History) -> None:
        self._world = world
        self._history = history
        self.acks = 0
        self.acked: dict[str, dict[Key, tuple[int, int]]] = defaultdict(dict)
        """By match and key: revision and index as they were answered."""
        self.last_ack_us: dict[str, int] = {}
        self.over: dict[str, str] = {}
        """Matches of which a client was told that they have ended, or are gone."""
        self._finished: dict[str, int] = defaultdict(int)
        self._shown: dict[tuple[str, str, str], int] = {}
        self._sync_floors: dict[tuple[str, int], int] = {}

    def finished(self, match: str) -> int:
        """The newest revision whose acknowledgement some client has."""
        return self._finished[match]

    def created(self, player: Player, frame: Created) -> None:
        self._world.trace.fold(frame.match.encode())
        if frame.match not in self._history.matches:
            raise Violation(
                "I11", f"{frame.match} was told as created: no record of it"
            )

    def acknowledged(self, player: Player, question: Question, frame: Accepted) -> None:
        """A client has its answer: the action is in the log, here, for good."""
        seat, session, action = question.key[2:5]
        assert isinstance(seat, str)
        assert isinstance(session, int)
        assert isinstance(action, int)
        self._acknowledged(player, (seat, session, action), frame)
        self.acks += 1
        self.last_ack_us[frame.match] = self._world.scheduler.now_us

    def late(self, player: Player, frame: Accepted) -> None:
        """An answer to a question that nobody asks any more is true all the same."""
        finished = self._finished
        finished[frame.match] = max(finished[frame.match], frame.revision)
        self._world.trace.counts["late_answers"] += 1

    def _acknowledged(self, player: Player, key: Key, frame: Accepted) -> None:
        told = (frame.revision, frame.index)
        known = self.acked[frame.match].setdefault(key, told)
        if known != told:
            raise Violation(
                "I1", f"{key} of {frame.match} was answered {known}, and now {told}"
            )
        match = self._history.matches.get(frame.match)
        if match is None or match.keys.get(key) != frame.index:
            there = None if match is None else match.records[frame.index :][:1]
            raise Violation(
                "I1",
                f"{player.name} was told that {key} of {frame.match} is at"
                f" {frame.index}; committed there is {there}",
            )
        finished = self._finished
        finished[frame.match] = max(finished[frame.match], frame.revision)
        self._world.trace.fold(b"ack %d %d" % told)

    def intervened(self, match: str, key: Key, answer: Applied) -> None:
        """An operator has an answer: it is true as a player's is."""
        told = (answer.revision, answer.index)
        known = self.acked[match].setdefault(key, told)
        if known != told:
            raise Violation("I1", f"{key} of {match} was answered {known}, now {told}")
        committed = self._history.matches[match]
        if committed.keys.get(key) != answer.index:
            there = committed.records[answer.index :][:1]
            raise Violation(
                "I1", f"{key} of {match} is told at {answer.index}; there is {there}"
            )
        self._finished[match] = max(self._finished[match], answer.revision)
        self._world.trace.fold(b"op %d %d" % told)

    def read(
        self, player: Player, node: str, question: Question, frame: Refused
    ) -> None:
        """A refusal is as fresh as what was acknowledged before it was asked."""
        if frame.revision is None:
            return
        floor = question.floors[frame.request]
        self._world.trace.counts["fresh_reads"] += 1
        if frame.revision < floor:
            raise Violation(
                "I8",
                f"{node} refused {question.key} with {frame.code} at revision"
                f" {frame.revision}, asked when {floor} had been acknowledged",
            )

    def asked_view(self, player: Player, node: str, request: int) -> None:
        """A `Sync` begins anew what is shown by that node."""
        self._sync_floors[player.name, request] = player.seen

    def viewed(self, player: Player, node: str, view: ViewUpdate) -> None:
        """What one process shows to a client never goes back."""
        process = self._world.network.processes[node]
        floor = self._sync_floors.pop((player.name, view.request), 0)
        if view.revision < floor:
            raise Violation(
                "I9",
                f"{node} showed {view.match} to {player.name} at {view.revision}, who"
                f" had said that it knew {floor}",
            )
        shown = (player.name, process.boot, f"{view.match}/{view.seat}")
        before = self._shown.get(shown, 0)
        if view.revision < before:
            raise Violation(
                "I9",
                f"{process.boot} showed {view.match} to {player.name} at"
                f" {view.revision}, after {before}",
            )
        self._shown[shown] = view.revision
        self._world.trace.counts["views"] += 1

    def ended(self, player: Player, why: str) -> None:
        """A client goes on to the next match."""
        self.over.setdefault(player.match, why)
        if why in ("match_lost", "unknown_match"):
            match = self._history.matches.get(player.match)
            if match is not None and self._world.places.of(player.match) not in (
                self._world.lost_shards()
            ):
                raise Violation("I1", f"{player.match} is {why}: it was committed")
        elif why == "quarantined":  # no fault does that: the product's own code failed
            raise Violation("set_apart", f"{player.name} was told so of {player.match}")
