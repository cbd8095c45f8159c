"""Gets a match's state back from what is stored of it, and from the records behind.

From the stored state, or one that is on its way to the store, the records behind it
are played again. If the stored state cannot be read, all of the history is. It never
makes up a state: what it gives back has the digest that the log says.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...engine.errors import DigestMismatchError, EngineError, ReplayError
from ...engine.jsonvalue import Json
from ...engine.machine import Machine
from ...engine.record import Record, RecordKind
from ...engine.step import Batch
from ..errors import CodecError, JournalCorrupt, RuntimeFault
from ..games import UnknownGame
from ..journal import StoreReader
from ..match import redo
from ..match_change import Change
from ..match_codec import FindMachine, unpack_state
from ..match_state import MatchState
from ..record_codec import unpack_record
from .hot_match import HotMatch

__all__ = ["CannotRestore", "Restorer", "again", "play"]

# Bytes of history that are read at once.
_PAGE_BYTES = 256 * 1024

# Kinds of records that this version can play; the others come with later ones.
_KNOWN_KINDS = frozenset(
    {
        RecordKind.CREATE,
        RecordKind.SEAT,
        RecordKind.SESSION,
        RecordKind.ACTION,
        RecordKind.TIMEOUT,
        RecordKind.TAKEBACK,
        RecordKind.CREDIT_OUTAGE,
        RecordKind.RESULT_DELIVERED,
        RecordKind.DETACH,
        RecordKind.ATTACH,
        RecordKind.TERMINATE,
        RecordKind.EDIT,
        RecordKind.UPGRADE,
    }
)


class CannotRestore(RuntimeFault):
    """The state of a match cannot be got. `code` is one of `INABILITIES`.

    `needs` is the (name, version) of the game that is missing.
    """

    def __init__(
        self, code: str, message: str, *, needs: tuple[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.needs = needs


class Restorer:
    """Reads the store; bounded by the size of a state and `records_max` records."""

    def __init__(
        self, store: StoreReader, find_machine: FindMachine, records_max: int
    ) -> None:
        self._store = store
        self._find_machine = find_machine
        self._records_max = records_max

    def play(self, state: MatchState | None, packed: bytes) -> MatchState:
        """The state after one more record.

        Raises:
            CannotRestore: unknown_record, missing_game or divergent.
        """
        return play(self._find_machine, state, packed)

    def restore(self, match: HotMatch, upto: int) -> MatchState | None:
        """The state after record `upto` (-1: None), from what is stored, and the tail.

        Raises:
            CannotRestore: Why not.
        """
        state = None
        problem: CannotRestore | None = None
        try:
            state = self._stored(match, upto)
        except CannotRestore as error:
            if error.code != "state_corrupt" or upto >= self._records_max:
                raise
            problem = error
        try:
            first = 0 if state is None else state.index + 1
            if upto - first >= self._records_max:
                raise CannotRestore(
                    "state_corrupt", f"{upto - first + 1:,} records behind its state"
                )
            for packed in self._records(match, first, upto):
                state = self.play(state, packed)
        except CannotRestore as error:
            if problem is None:
                raise
            raise problem from error
        if (-1 if state is None else state.index) != upto:
            at = "nothing" if state is None else f"record {state.index}"
            raise problem or CannotRestore(
                "state_corrupt", f"what is stored ends with {at}, not with {upto}"
            )
        return state

    def batches(
        self, match: HotMatch, since: int, records_max: int
    ) -> tuple[Batch, ...]:
        """What was done after the revision `since`, up to the last record.

        Nothing, if that takes more than `records_max` records from the stored state,
        or from the beginning.

        Raises:
            CannotRestore: Why not.
        """
        first = max(0, match.index + 1 - records_max)
        packed = tuple(self._records(match, first, match.index))
        behind = [_read(one).revision_after > since for one in packed]
        if True not in behind or (behind[0] and first):
            return ()
        wanted = first + behind.index(True)
        state = self._stored(match, wanted - 1)
        begin = 0 if state is None else state.index + 1
        if begin < first:
            return ()
        batches = []
        for one in packed[begin - first :]:
            change = again(self._find_machine, state, one)
            state = change.state
            if state.index >= wanted and change.batch is not None:
                batches.append(change.batch)
        return tuple(batches)

    def history_end(self, match: str, after: int) -> int:
        """The number of the last record in the stored history, at least `after`."""
        try:
            while page := self._store.history(match, after + 1, _PAGE_BYTES):
                after += len(page)
        except JournalCorrupt:
            return after
        return after

    def _stored(self, match: HotMatch, upto: int) -> MatchState | None:
        """The newest packed state that is not newer than `upto`."""
        try:
            body = match.body
            if body is None:
                body = self._store.state(match.match)
            if not body:
                return None
            state = unpack_state(body, self._find_machine)
        except UnknownGame as error:
            raise CannotRestore("missing_game", str(error)) from error
        except (CodecError, JournalCorrupt) as error:
            raise CannotRestore("state_corrupt", str(error)) from error
        if state.match != match.match:
            raise CannotRestore("state_corrupt", "the stored state is another match's")
        line = match.line
        if state.index == line.index and state.digest != line.digest:
            raise CannotRestore(
                "state_corrupt", "the stored state has not the digest of its line"
            )
        # A newer one is of no use: it was saved after what is asked for.
        return state if state.index <= upto else None

    def _records(self, match: HotMatch, first: int, upto: int) -> Iterator[bytes]:
        """The packed records from `first` to `upto`, without a gap."""
        while first <= upto:
            page: tuple[bytes, ...] | list[bytes]
            if first >= match.first:
                page = match.tail[first - match.first :]
            else:
                try:
                    page = self._store.history(match.match, first, _PAGE_BYTES)
                except JournalCorrupt as error:
                    raise CannotRestore("state_corrupt", str(error)) from error
            page = page[: upto - first + 1]
            if not page:
                return
            yield from page
            first += len(page)


def play(
    find_machine: FindMachine, state: MatchState | None, packed: bytes
) -> MatchState:
    """The state after one more packed record.

    Raises:
        CannotRestore: unknown_record, missing_game, divergent or recovery_failed.
    """
    return again(find_machine, state, packed).state


def again(find_machine: FindMachine, state: MatchState | None, packed: bytes) -> Change:
    """What one more packed record did.

    Raises:
        CannotRestore: unknown_record, missing_game, divergent or recovery_failed.
    """
    record = _read(packed)
    if record.kind not in _KNOWN_KINDS:
        why = f"record {record.index} is of kind {record.kind}"
        raise CannotRestore("unknown_record", why)
    machine = _machine_for(find_machine, state, record)
    try:
        return redo(machine, state, record)
    except (DigestMismatchError, ReplayError, EngineError) as error:
        raise CannotRestore("divergent", str(error)) from error
    except Exception as error:  # author code, outside of what the engine guards
        raise CannotRestore(
            "recovery_failed", f"record {record.index}: {type(error).__name__}: {error}"
        ) from error


def _read(packed: bytes) -> Record:
    """
    Raises:
        CannotRestore: unknown_record.
    """
    try:
        return unpack_record(packed)
    except CodecError as error:
        raise CannotRestore("unknown_record", str(error)) from error


def _machine_for(
    find_machine: FindMachine, state: MatchState | None, record: Record
) -> Machine:
    """The machine that plays a record.

    Raises:
        CannotRestore: missing_game.
    """
    given = record.input
    if state is None:
        name, version = _names(given.get("game"), given.get("version"))
    elif record.kind is RecordKind.UPGRADE:
        name, version = _names(state.machine.game.name, given.get("to"))
    else:
        return state.machine
    machine = find_machine(name, version)
    if machine is None:
        raise CannotRestore(
            "missing_game",
            f"it is of game {name[:80]!r} version {version[:40]!r}",
            needs=(name, version),
        )
    return machine


def _names(name: Json, version: Json) -> tuple[str, str]:
    return (
        name if isinstance(name, str) else "",
        version if isinstance(version, str) else "",
    )
