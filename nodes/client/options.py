"""What a user of the client library may choose. Durations are in seconds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ClientOptions"]


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Each field is a bound or a choice, with the reason for its default.

    timeout_s: How long an operation tries before its outcome counts as unknown.
    attempt_s: Silence after which the same key is sent again, elsewhere. It is far
        above the latency of a loaded node, so that load is not answered with load.
    backoff_s_min, backoff_s_max: Pause before an attempt: grows by half each time
        from the first to the second, then is jittered to between half and all of
        itself. A takeover takes some tens of milliseconds: nobody should sleep long
        beyond it, nor ask a cluster that is down again and again.
    watch_idle_s: A watched match that sends nothing for so long is asked again;
        this finds an owner that is gone behind a node that is not.
    suspect_s: How long a silent node is passed over when there is another.
    requests_max: Operations that may wait at once. One more is refused: `busy`.
    watches_max: Seats and matches watched at once. One more is refused: `busy`.
    created_max: Acknowledged creations remembered; a create with the key of one
        is answered from memory and never sent again.
    unknown_max: Actions of unknown outcome that a seat remembers, to ask again.
    known_max: Matches whose newest revision is remembered, and seats whose token is:
        an older view is never shown, and a seat is taken back unseen.
    direct: Send straight to a match's owner. Otherwise all goes through one node,
        which forwards.
    """

    timeout_s: float = 10.0
    attempt_s: float = 3.0
    backoff_s_min: float = 0.03
    backoff_s_max: float = 1.0
    watch_idle_s: float = 5.0
    suspect_s: float = 3.0
    requests_max: int = 1024
    watches_max: int = 8192
    created_max: int = 4096
    unknown_max: int = 32
    known_max: int = 65536
    direct: bool = True

    def __post_init__(self) -> None:
        assert 0 < self.backoff_s_min <= self.backoff_s_max
        assert self.attempt_s > 0
        assert self.requests_max > 0
