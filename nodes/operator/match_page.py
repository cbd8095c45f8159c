"""The `matches` operation of a node's door: the matches that it serves, in pages.

Nothing is woken and no match notices. A page looks at a bounded number of matches, so
that asking for few out of very many does not hold the node's loop: it may be empty
though there are more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from ...runtime.journal import MatchLine
from ...runtime.match_state import MatchState
from .door import DoorError
from .rows import MATCH_STATES, MatchRow, row_json

__all__ = [
    "LOOKED_AT_MAX",
    "PAGE_BYTES",
    "ROWS_PER_PAGE",
    "Copies",
    "give_matches",
    "match_row",
]

LOOKED_AT_MAX = 2_000
"""Matches that one page looks at: a few milliseconds of the node's loop."""

ROWS_PER_PAGE = 400
"""A row costs five times what a match costs that is only looked at."""

PAGE_BYTES = 256 * 1024
"""A quarter of a door's message; a page ends behind the row that exceeds it."""


class Copies(Protocol):
    """What is asked of a node's committed matches."""

    def lines_behind(
        self, shard: int, after: str, *, ended: bool
    ) -> Iterator[MatchLine]: ...

    def peek(self, match: str) -> MatchState | None: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which matches are asked for."""

    game: str | None
    shard: int | None
    states: frozenset[str]
    to_act: str | None
    idle_ms: int
    active_ms: int | None
    limit: int
    after: tuple[int, str]

    def may_admit(self, line: MatchLine, now_ms: int) -> bool:
        """Whether the match can be one of them, by its line: cheaply."""
        over = (line.ended or line.buried) and not line.quarantined
        still_ms = max(0, now_ms - line.time_ms)
        return (
            (self.game is None or line.game == self.game)
            and still_ms >= self.idle_ms
            and (self.active_ms is None or still_ms <= self.active_ms)
            and (not over or "ended" in self.states)
        )

    def admits(self, row: MatchRow) -> bool:
        """Whether a match that may be one of them is one."""
        return row.state in self.states and (
            self.to_act is None or self.to_act in (row.to_act or ())
        )


def give_matches(
    copies: Copies, served: Mapping[int, int], now_ms: int, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """The matches of the shards `served` here, in the order of shards and ids.

    All of these may be left out: `after` (where the page before ended), `game`,
    `shard`, `states` (of `MATCH_STATES`; all but ended ones if not said), `to_act` (a
    seat), `idle_ms` (nothing happened for so long), `active_ms` (something happened
    within this time), `limit`.

    Answers `matches`, a list of `MatchRow`, and `next`: the `after` of the next page,
    or nil.

    Raises:
        DoorError: malformed_request.
    """
    wanted = _read(asked)
    rows: list[dict[str, Any]] = []
    looked = size = 0
    for shard in sorted(served):
        if shard < wanted.after[0] or wanted.shard not in (None, shard):
            continue
        after = wanted.after[1] if shard == wanted.after[0] else ""
        # All that go on are in memory, those that are set apart too.
        ended = "ended" in wanted.states
        for line in copies.lines_behind(shard, after, ended=ended):
            looked += 1
            if wanted.may_admit(line, now_ms):
                row = match_row(line, copies.peek(line.match), now_ms)
                if wanted.admits(row):
                    rows.append(row_json(row))
                    size += len(msgspec.msgpack.encode(row))
            full = len(rows) >= wanted.limit or size > PAGE_BYTES
            if full or looked >= LOOKED_AT_MAX:
                return {"matches": rows, "next": [shard, line.match]}
    return {"matches": rows, "next": None}


def match_row(line: MatchLine, state: MatchState | None, now_ms: int) -> MatchRow:
    """A match's row, by its line, and its state if that is in memory."""
    free = to_act = None
    if state is not None:
        free = tuple(seat for seat, held in state.seats.items() if not held.token_hash)
        active = () if state.ended else state.snapshot.derived.active_players
        to_act = tuple(active)
    if line.quarantined:
        word = "quarantined"
    elif line.ended or line.buried:
        word = "ended"
    else:
        word = "waiting" if free else "running"
    in_memory = "hot" if state is not None else "stored"
    return MatchRow(
        match=line.match,
        shard=line.shard,
        game=line.game,
        version=line.version,
        state=word,
        tier="buried" if line.buried else in_memory,
        seats=line.seats,
        to_act=to_act,
        free=free,
        records=line.index + 1,
        digest=line.digest.hex(),
        changed_ms=line.time_ms,
        idle_s=max(0, now_ms - line.time_ms) / 1_000,
        deadline_ms=line.armed_ms,
        code=line.quarantined,
        reported=line.reported,
    )


def _read(asked: Mapping[str, Any]) -> Wanted:
    """
    Raises:
        DoorError: malformed_request.
    """
    states = asked.get("states") or [each for each in MATCH_STATES if each != "ended"]
    after = asked.get("after") or [-1, ""]
    wrong = [
        name
        for name, kind in (("game", str), ("shard", int), ("to_act", str))
        if asked.get(name) is not None and type(asked[name]) is not kind
    ]
    if not isinstance(states, list) or not set(map(str, states)) <= {*MATCH_STATES}:
        wrong.append("states")
    if not (
        isinstance(after, list)
        and len(after) == 2
        and type(after[0]) is int
        and isinstance(after[1], str)
    ):
        wrong.append("after")
    idle_ms, limit = asked.get("idle_ms", 0), asked.get("limit", ROWS_PER_PAGE)
    active_ms = asked.get("active_ms")
    if type(idle_ms) is not int or idle_ms < 0:
        wrong.append("idle_ms")
    if active_ms is not None and (type(active_ms) is not int or active_ms < 0):
        wrong.append("active_ms")
    if type(limit) is not int or limit < 1:
        wrong.append("limit")
    if wrong:
        names = ", ".join(f"`{name}`" for name in wrong)
        raise DoorError("malformed_request", f"Not understood: {names}.")
    return Wanted(
        game=asked.get("game"),
        shard=asked.get("shard"),
        states=frozenset(states),
        to_act=asked.get("to_act"),
        idle_ms=idle_ms,
        active_ms=active_ms,
        limit=min(limit, ROWS_PER_PAGE),
        after=(after[0], after[1]),
    )
