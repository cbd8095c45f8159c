"""A match's state as bytes, and back: how it is stored, and sent to other replicas.

Sealed (`sealed.py`) is one msgpack array: the game's name and version, then the fields
of `MatchState`. It is written by msgspec's encoder, which writes what `msgpack.packb`
writes. Snapshots that the match could return to are said as what differs from the next
newer one, so that they cost what was played between them, and share it when read.

Rules:
- Dicts keep the order of their keys: a game may look at it.
- What is read equals what was written; what derives from G is stored, not derived anew.
- Any bytes at all are answered with a state, a `CodecError` or `UnknownGame`.

Version history of `STATE_FORMAT`:
1: the first.
2: behind it, what is remembered of interventions. A state without any is still written
   as 1, which older versions read.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..engine.digest import DIGEST_BYTES
from ..engine.frozen import FDict, enclose
from ..engine.jsonvalue import Json
from ..engine.machine import Machine
from ..engine.rng import RNG_STATE_MAX, RngState
from ..engine.snapshot import ControlMeta, Derived, Meta, Position, Snapshot
from ..engine.takeback import NO_UNDO, Past, UndoRequest, UndoState
from ..engine.versions import FindMachine
from .dedupe import KeyWindow, LiveSession, RememberedKey
from .errors import ContentMalformed
from .games import UnknownGame
from .interventions import (
    NO_INTERVENTIONS,
    Interventions,
    RememberedOp,
    Reversal,
)
from .match_state import MatchState, SeatState
from .patch import patch, patched
from .sealed import seal, unseal

__all__ = ["STATE_FORMAT", "FindMachine", "pack_state", "unpack_state"]

STATE_FORMAT: Final = 2
_WITHOUT_INTERVENTIONS: Final = 1

_encode = msgspec.msgpack.Encoder().encode


def pack_state(state: MatchState) -> bytes:
    """The bytes of a state."""
    game, undo, parts = state.machine.game, state.undo, _parts(state.snapshot)
    request = undo.request
    body: tuple[Any, ...] = (
        game.name,
        game.version,
        state.match,
        state.epoch,
        state.creation,
        parts,
        [_seat_parts(seat, kept) for seat, kept in state.seats.items()],
        state.index,
        state.digest,
        state.time_ms,
        state.position_revision,
        state.armed_ms,
        state.stuck,
        state.bytes_at_most,
        state.bytes_unmeasured,
        _past_parts(undo.past, parts),
        request and (request.revision, request.seat, request.to, request.agreed),
        undo.declined,
        undo.since,
        state.credit_ms,
        state.reported,
        state.pinned,
        state.pins,
    )
    known = state.interventions
    if known == NO_INTERVENTIONS:
        return seal(_WITHOUT_INTERVENTIONS, _encode(body))
    return seal(STATE_FORMAT, _encode((*body, _intervention_parts(known, parts[0]))))


def unpack_state(data: bytes | memoryview, find_machine: FindMachine) -> MatchState:
    """Read what `pack_state` wrote. Nothing of `data` is kept.

    Raises:
        ChecksumWrong: The bytes are cut off, or have changed.
        FormatTooNew: A newer version wrote them.
        ContentMalformed: They are no state.
        UnknownGame: The state is of a game, or a version of it, that is not here.
    """
    _, body = unseal(data, STATE_FORMAT, "the state of a match")
    try:
        wire = _decode(body)
    except (RecursionError, ValueError, TypeError, OverflowError) as error:
        # msgspec's, and those of dates and keys that cannot be.
        raise ContentMalformed(f"this is no state of a match: {error}") from error
    machine = find_machine(wire.game, wire.version)
    if machine is None:
        raise UnknownGame(
            f"match {wire.match[:40]!r} is of game {wire.game[:80]!r} version"
            f" {wire.version[:40]!r}, which this node does not have: load it here"
        )
    try:
        state = _state(wire, machine)
    except (RecursionError, ValueError, TypeError) as error:
        raise ContentMalformed(
            f"this is no state of match {wire.match[:40]!r}: {error}"
        ) from error
    node = machine.nodes.get(state.snapshot.position.name)
    if node is None or not node.is_leaf:
        raise ContentMalformed(
            f"match {wire.match[:40]!r} stands in no state of {wire.game[:80]!r}"
        )
    return state


_Key = tuple[int, int, bytes, int, int]
_Seat = tuple[str, str, tuple[tuple[int, int, int], ...], tuple[_Key, ...], int, int]


_Reversal = tuple[int, str, Any]
_Interventions = tuple[
    tuple[tuple[str, bytes, int, int], ...],
    str,
    _Reversal | None,
    _Reversal | None,
    tuple[str, ...],
]


class _Wire(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    game: str
    version: str
    match: str
    epoch: int
    creation: str
    snapshot: list[Any]
    seats: tuple[_Seat, ...]
    index: int
    digest: bytes
    time_ms: int
    position_revision: int
    armed_ms: int | None
    stuck: bool
    bytes_at_most: int
    bytes_unmeasured: int
    past: tuple[tuple[Any, str | None, bool, bool], ...]
    request: tuple[int, str, int, tuple[str, ...]] | None
    declined: tuple[str, ...]
    since: int
    credit_ms: int
    reported: bool
    pinned: int
    pins: int
    interventions: _Interventions | None = None


_decode = msgspec.msgpack.Decoder(_Wire).decode


def _state(wire: _Wire, machine: Machine) -> MatchState:
    """Raises ContentMalformed, ValueError, TypeError: it is none."""
    parts = enclose(wire.snapshot, label="a snapshot")
    snapshot = _snapshot(parts)
    seats = {seat[0]: _seat(seat) for seat in wire.seats}
    if list(seats) != snapshot.meta.match["players"] or len(seats) != len(wire.seats):
        raise ValueError("its seats are not those of its players")
    if len(wire.digest) != DIGEST_BYTES or wire.index < 0:
        raise ValueError("its place in the log cannot be")
    return MatchState(
        machine=machine,
        match=wire.match,
        epoch=wire.epoch,
        creation=wire.creation,
        snapshot=snapshot,
        seats=seats,
        index=wire.index,
        digest=wire.digest,
        time_ms=wire.time_ms,
        position_revision=wire.position_revision,
        armed_ms=wire.armed_ms,
        stuck=wire.stuck,
        bytes_at_most=wire.bytes_at_most,
        bytes_unmeasured=wire.bytes_unmeasured,
        undo=_undo(wire, parts),
        credit_ms=wire.credit_ms,
        reported=wire.reported,
        pinned=wire.pinned,
        pins=wire.pins,
        interventions=_interventions(wire, parts),
    )


def _seat_parts(seat: str, state: SeatState) -> tuple[Any, ...]:
    window = state.window
    return (
        seat,
        state.token_hash,
        [(s.number, s.highest, s.floor) for s in window.sessions],
        [(k.session, k.action, k.content, k.revision, k.index) for k in window.keys],
        window.newest,
        state.touched_revision,
    )


def _seat(wire: _Seat) -> SeatState:
    _, token_hash, sessions, keys, newest, touched_revision = wire
    window = KeyWindow(
        tuple([LiveSession(*session) for session in sessions]),
        tuple([RememberedKey(*key) for key in keys]),
        newest,
    )
    return SeatState(token_hash, window, touched_revision)


def _intervention_parts(known: Interventions, G: Json) -> tuple[Any, ...]:
    """Each G as what differs from that of the state."""

    def parts(reversal: Reversal | None) -> tuple[Any, ...] | None:
        if reversal is None:
            return None
        return reversal.revision, reversal.version, patch(G, reversal.G)

    return (
        [(done.op, done.content, done.revision, done.index) for done in known.ops],
        known.floor,
        parts(known.edited),
        parts(known.upgraded),
        known.left,
    )


def _interventions(wire: _Wire, parts: Json) -> Interventions:
    if wire.interventions is None:
        return NO_INTERVENTIONS
    ops, floor, edited, upgraded, left = wire.interventions

    def reversal(packed: _Reversal | None) -> Reversal | None:
        if packed is None:
            return None
        revision, version, change = packed
        return Reversal(revision, version, patched(parts[0], change))

    return Interventions(
        tuple([RememberedOp(*done) for done in ops]),
        floor,
        reversal(edited),
        reversal(upgraded),
        left,
    )


def _past_parts(past: tuple[Past, ...], parts: list[Any]) -> list[Any]:
    """Newest first, each as what differs from the one before it."""
    packed = []
    for entry in reversed(past):
        older = _parts(entry.snapshot)
        packed.append((patch(parts, older), entry.seat, entry.reveals, entry.profiles))
        parts = older
    return packed


def _undo(wire: _Wire, parts: Json) -> UndoState:
    past = []
    for change, seat, reveals, profiles in wire.past:
        parts = patched(parts, change)
        past.append(Past(_snapshot(parts), seat, reveals, profiles))
    request = None if wire.request is None else UndoRequest(*wire.request)
    undo = UndoState(tuple(reversed(past)), request, wire.declined, wire.since)
    return NO_UNDO if undo == NO_UNDO else undo


def _parts(snapshot: Snapshot) -> list[Any]:
    """A snapshot as JSON around its frozen parts."""
    position, derived, meta = snapshot.position, snapshot.derived, snapshot.meta
    control = derived.control_meta
    return [
        snapshot.G,
        [position.name, list(position.path), position.turn],
        [derived.active_players, derived.control, derived.selectors],
        [control.deadline, control.label, list(control.pending_targets)],
        control.metadata,
        [meta.match, meta.result],
        [meta.now, meta.rng.draws, meta.rng.seed, meta.rng.state, meta.seed],
        snapshot.revision,
    ]


class _Scalars(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What of a snapshot's parts is typed."""

    position: tuple[str, tuple[str, ...], int]
    control: tuple[int | float | None, str | None, tuple[str, ...]]
    times: tuple[int | float, int, str, int, str]
    revision: int
    active_players: list[str]


def _snapshot(parts: Json) -> Snapshot:
    """Raises ValueError, TypeError: the parts are of no snapshot."""
    G, place, (active, controlled, selectors), control, metadata, core, times, at = (
        parts
    )
    known = msgspec.convert((place, control, times, at, active), _Scalars)
    match, result = core
    now, draws, rng_seed, rng_state, seed = known.times
    position = Position(*known.position)
    if not (isinstance(match, FDict) and isinstance(match.get("players"), list)):
        raise ValueError("a snapshot without players")
    if not (isinstance(selectors, FDict) and isinstance(metadata, list)):
        raise ValueError("a snapshot without what derives from it")
    if position.turn < 1 or known.revision < 0 or draws < 0:
        raise ValueError("turns count from 1, revisions and draws from 0")
    if not 0 <= rng_state <= RNG_STATE_MAX:
        raise ValueError("the rng stands where no generator can")
    deadline, label, pending = known.control
    return Snapshot(
        G,
        position,
        Derived(
            active,
            controlled,
            ControlMeta(deadline, label, metadata, pending),
            selectors,
        ),
        Meta(match, now, result, RngState(draws, rng_seed, rng_state), seed),
        known.revision,
    )
