"""Goes through a match again, action by action."""

from __future__ import annotations

from collections.abc import Iterator

from ..context import StateContext
from ..record import Record
from ..session import Session, create_session
from ..snapshot import Snapshot

__all__ = ["context_of", "match_states"]


def match_states(played: Session) -> Iterator[tuple[Record, Session]]:
    """Each record of a match, with a session as it stood after that record.

    It is one session that moves on. A record that is not accepted any more, as a game
    that is not pure may do, leaves it where it was.
    """
    first, *rest = played.log
    session = create_session(
        played.game, first.input["match"], seed=first.input["seed"], now=first.time_ms
    )
    yield first, session
    for record in rest:
        given = record.input
        if "seat" in given:
            session.apply(
                given["seat"], given["event"], given["payload"], now=record.time_ms
            )
        else:
            session.fire_timeout(record.time_ms)
        yield record, session


def context_of(snapshot: Snapshot) -> StateContext:
    """A snapshot as views and legal actions see it."""
    meta = snapshot.meta
    return StateContext(
        snapshot.G, snapshot.position, snapshot.derived, meta.match, meta.now
    )
