"""The log of a match in a cluster, as it is committed: asked of its owner's door.

The match does not notice: nothing enters its mailbox, and nobody is told. The owner is
found by asking all doors, and again when it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from ...engine.errors import RecordError, ReplayError
from ...engine.record import Record, RecordKind, record_from_json
from ...engine.replay.late_records import Unread
from ...engine.replay.log_file import read_snapshot
from ...engine.snapshot import Snapshot
from ...runtime.codec import unpack
from ...runtime.errors import CodecError
from ...runtime.lifecycle import ActorState
from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .ask_cluster import ask_all, find_cluster
from .ask_door import DoorUnreachable, ask_door
from .doors import Elsewhere, find_doors

__all__ = ["NOBODY_ANSWERS", "FeedBroken", "MatchFeed"]

NOBODY_ANSWERS: Final = "cluster_unreachable"

_ELSEWHERE: Final = "moved"

_NOT_NOW: Final = "retry"
"""Of an owner that has the match, and cannot give it yet."""


class FeedBroken(OperatorError):
    """Nobody answers for the match now; asking again may help."""


class MatchFeed:
    """The committed records of one match, in order; each is given out once."""

    def __init__(
        self, place: Path | str, match: str, *, bytes_max: int | None = None
    ) -> None:
        """`bytes_max`: of all inputs together; unbounded if not said."""
        self.match = match
        self.bytes = 0
        """Of the inputs that were fetched."""
        self.ended = False
        """Whether the match is over, with all of its records given out."""
        self.quarantined = False
        """Whether its node has set it apart."""
        self.upgrades: list[int] = []
        """The records given out by which the game's version changed."""
        self._place = place
        self._door: str | None = None
        self._epoch: int | None = None
        self._count = 0
        self._chain: str | None = None
        self._marks: dict[int, Callable[[], Snapshot]] = {}
        self._bytes_max = bytes_max

    async def fetch(self) -> list[Record]:
        """The records that are new since the last time. See `fetch_unread`.

        Raises:
            OperatorError: malformed_log; and what `fetch_unread` raises.
        """
        _, unread = await self.fetch_unread()
        try:
            return [read() for read in unread]
        except ReplayError as error:
            raise self._malformed(error) from error

    async def fetch_unread(self) -> tuple[list[int], list[Unread]]:
        """The revision that each new record led to, and how to read it.

        Raises:
            FeedBroken: Nobody answers for it now; nothing is lost by asking again.
            OperatorError: unknown_match, match_lost, game_over, too_large, or
                what else its owner says: there will be no more of it.
        """
        rows: list[_Row] = []
        size = 0
        while True:
            answer = await self._ask(self._count + len(rows))
            page = self._read(answer, rows)
            rows += page
            size += sum(len(row.input) for row in page)
            self._check_size(size)
            if not page or self._count + len(rows) >= answer["count"]:
                break
        if rows:
            self._chain = rows[-1].digest
        self._count += len(rows)
        self.bytes += size
        self.upgrades += [row.index for row in rows if row.kind == RecordKind.UPGRADE]
        self.quarantined = answer["status"] == ActorState.QUARANTINED.value
        self.ended = answer["ended"] and self._count == answer["count"]
        return [row.revision_after for row in rows], [partial(_record, r) for r in rows]

    def take_marks(self) -> dict[int, Callable[[], Snapshot]]:
        """What the match was after some of the records given out, by their number."""
        marks, self._marks = self._marks, {}
        return marks

    async def _ask(self, first: int) -> dict[str, Any]:
        """One page, from the owner known so far or from whoever is it now."""
        if self._door is not None:
            try:
                return await ask_door(
                    self._door, "records", match=self.match, first=first
                )
            except DoorUnreachable:
                self._door = None
            except OperatorError as error:
                self._door = None
                if error.code != _ELSEWHERE:
                    raise self._refusal(error) from error
        doors = await find_doors(await self._home())
        answers = await ask_all(doors, "records", match=self.match, first=first)
        owners = {
            node: answer for node, answer in answers.items() if isinstance(answer, dict)
        }
        if owners:
            node = max(owners, key=lambda name: int(owners[name]["epoch"]))
            self._door = doors.of(node)
            return owners[node]
        errors = [each for each in answers.values() if isinstance(each, OperatorError)]
        raise self._nobody(errors)

    async def _home(self) -> ClusterDir:
        try:
            return await find_cluster(self._place)
        except DoorUnreachable as error:
            if self._epoch is None:
                raise  # more likely a wrong address than a node that is just restarted
            raise FeedBroken(
                error.code, error.message, hint=error.hint, exit_code=error.exit_code
            ) from error

    def _nobody(self, errors: list[OperatorError]) -> OperatorError:
        """Why no node gave an answer."""
        present = [each for each in errors if not _is_down(each)]
        for error in present:
            if error.code != _ELSEWHERE:
                return self._refusal(error)
        if not present:
            return FeedBroken(
                NOBODY_ANSWERS,
                "no node of the cluster answers",
                hint="hotseat up starts a cluster; --dir or --cluster names one",
                exit_code=ExitCode.UNREACHABLE,
            )
        return FeedBroken(
            "no_owner", f"no node that answers owns the shard of match {self.match}"
        )

    def _refusal(self, error: OperatorError) -> OperatorError:
        if error.code == _NOT_NOW:
            return FeedBroken(error.code, error.message)
        if error.code == "unknown_match" and self._count:
            return self._lost()
        if error.code == "unknown_match":
            return OperatorError(
                error.code,
                f"there is no match {self.match}: no such match was created, or "
                "every copy of it is gone",
            )
        if error.code == "game_over":
            return OperatorError(
                error.code,
                f"match {self.match} is over, and its log is no longer kept",
                hint="hotseat replay export keeps the log of a finished match",
            )
        return error

    def _lost(self) -> OperatorError:
        return OperatorError("match_lost", f"every copy of match {self.match} is gone")

    def _read(self, answer: dict[str, Any], before: list[_Row]) -> list[_Row]:
        """The records of a page, which follow those that were given out."""
        if self._epoch not in (None, answer["epoch"]):
            raise self._lost()  # another match under the same id
        self._epoch = answer["epoch"]
        try:
            page = _decode_rows(answer["records"])
        except (msgspec.DecodeError, RecursionError, TypeError) as error:
            raise self._malformed(error) from error
        for index, packed in answer.get("marks", ()):
            self._marks[index] = partial(read_snapshot, packed)
        chain = before[-1].digest if before else self._chain
        for row in page:
            if chain is not None and row.prev_digest != chain:
                raise self._lost()
            chain = row.digest
        return page

    def _check_size(self, more: int) -> None:
        if self._bytes_max is not None and self.bytes + more > self._bytes_max:
            raise OperatorError(
                "too_large",
                f"the log of match {self.match} is longer than is read here",
                hint="hotseat inspect reads it all; hotseat replay export, to a file",
            )

    def _malformed(self, error: Exception) -> OperatorError:
        return OperatorError(
            "malformed_log", f"the log of match {self.match} is unreadable: {error}"
        )


def _is_down(error: OperatorError) -> bool:
    """Whether it is a node's that may just be started again, like any that is down."""
    if isinstance(error, Elsewhere):
        return not error.registered
    return isinstance(error, DoorUnreachable)


class _Row(msgspec.Struct, gc=False):
    """A record as a door gives it out; what it holds is read when it is looked at."""

    index: int
    kind: str
    time_ms: int | float
    revision_after: int
    input: msgspec.Raw
    prev_digest: str
    digest: str


_decode_rows = msgspec.msgpack.Decoder(list[_Row]).decode


def _record(row: _Row) -> Record:
    """Read a record.

    Raises:
        ReplayError: It is none.
    """
    try:
        given = unpack(row.input)
        return record_from_json({**msgspec.structs.asdict(row), "input": given})
    except (RecordError, CodecError) as error:
        why = f"record {row.index} is malformed: {error}"
        raise ReplayError(row.index, why) from error
