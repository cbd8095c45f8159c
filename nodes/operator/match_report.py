"""The `match` operation of a node's door: all that this node knows of one match.

Owner and followers answer alike, each from its own copy. The match does not notice,
unless its state is asked for: then it is loaded. Tokens, the seed and payloads are
never told; G only to who asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from ...runtime.actor import MatchActor
from ...runtime.codec import pack_trusted
from ...runtime.errors import FrameTooLarge
from ...runtime.journal import MatchLine
from ...runtime.match_id import is_match_id
from ...runtime.match_state import MatchState
from .door import DoorError
from .match_page import match_row
from .rows import ActorRow, PlayRow, SeatRow, row_json

__all__ = ["STATE_BYTES_MAX", "Copies", "give_match"]

STATE_BYTES_MAX = 768 * 1024
"""Of a state in an answer: a door's message holds 1 MiB."""


class Copies(Protocol):
    """What is asked of a node's committed matches."""

    def line(self, match: str) -> MatchLine | None: ...

    def peek(self, match: str) -> MatchState | None: ...

    def get(self, match: str) -> MatchState | MatchLine | None: ...


def give_match(
    copies: Copies,
    find_actor: Callable[[str], MatchActor | None],
    shard_of: Callable[[str], int],
    now_ms: int,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """What is known of the match `match`; with `state`: true, its G as well.

    Answers `shard`, the one that it is in as far as is known here; `row` (`MatchRow`),
    nil if the match is not known here; `play` (`PlayRow`), nil if its state is not in
    memory; `actor` (`ActorRow`), nil if it has none; `created_epoch`; and `g`, packed,
    if asked for and there.

    Raises:
        DoorError: malformed_request; too_large: its G does not fit into an answer.
    """
    match, wants_g = asked.get("match"), asked.get("state", False)
    if not isinstance(match, str) or not is_match_id(match):
        raise DoorError("malformed_request", "`match` is no id of a match.")
    if type(wants_g) is not bool:
        raise DoorError("malformed_request", "`state` is neither true nor false.")
    line, actor = copies.line(match), find_actor(match)
    state: MatchState | MatchLine | None = copies.peek(match)
    if state is None and wants_g and line is not None:
        state = copies.get(match)
    if not isinstance(state, MatchState):
        state = None
    answer: dict[str, Any] = {
        "shard": shard_of(match),
        "row": None if line is None else row_json(match_row(line, state, now_ms)),
        "play": None if state is None else row_json(_play(state)),
        "actor": None if actor is None else row_json(_actor(actor)),
        "created_epoch": 0 if line is None else line.epoch,
    }
    if wants_g and state is not None:
        answer["g"] = bytes(_packed_g(state))
    return answer


def _packed_g(state: MatchState) -> msgspec.Raw:
    try:
        return pack_trusted(state.snapshot.G, STATE_BYTES_MAX)
    except FrameTooLarge as error:
        raise DoorError(
            error.code,
            f"Its state is too large for an answer: {error}. "
            "hotseat replay export --running writes its log to a file.",
        ) from error


def _play(state: MatchState) -> PlayRow:
    snapshot = state.snapshot
    active = () if state.ended else snapshot.derived.active_players
    return PlayRow(
        revision=state.revision,
        position=snapshot.position.name,
        path=tuple(snapshot.position.path),
        turn=snapshot.position.turn,
        seats=tuple(
            SeatRow(seat=seat, taken=bool(held.token_hash), may_act=seat in active)
            for seat, held in state.seats.items()
        ),
        deadline_ms=state.deadline_ms,
        undo_asked=state.undo.request is not None,
        credit_ms=state.credit_ms,
        bytes_at_most=state.bytes_at_most,
    )


def _actor(actor: MatchActor) -> ActorRow:
    mailbox, ledger = actor.mailbox.statistics(), actor.ledger
    committed = -1 if ledger.committed is None else ledger.committed.index
    return ActorRow(
        status=actor.status.value,
        mailbox=mailbox.waiting,
        mailbox_bytes=mailbox.waiting_bytes,
        mailbox_accepted=mailbox.accepted,
        mailbox_refused=mailbox.refused,
        watchers=len(actor.subscribers),
        faults=actor.faults,
        answers_waiting=ledger.waiting,
        uncommitted=ledger.state.index - committed,
        code=actor.quarantine_code,
    )
