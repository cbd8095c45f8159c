"""Options of the match actor and its supervisor.

Only what may differ from node to node. What every replica must compute alike (the
window of keys, sessions per seat) is a constant beside its code.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["MatchOptions", "SupervisorOptions"]


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """Bounds of one match. All are positive."""

    mailbox_messages_max: int = 256
    """Messages that may wait for the actor; one more is answered `busy`."""
    mailbox_bytes_max: int = 1024 * 1024
    """Bytes of payloads that may wait for the actor; more is answered `busy`."""
    payload_bytes_max: int = 64 * 1024
    """Bytes of an action's packed payload; more is answered `too_large`."""
    uncommitted_max: int = 1024
    """Answers that may wait for a commit; at the bound the mailbox is left to fill."""
    subscribers_max: int = 256
    """Seats and spectators that get views; one more is answered `busy`."""
    steps_kept: int = 64
    """Steps kept for updates; a subscriber further behind gets the view alone."""
    view_bytes_max: int = 768 * 1024
    """Bytes of a view with its result and legal actions; more is `view_error`.
    Steps are left out when they do not fit beside it."""
    log_page_bytes: int = 256 * 1024
    """Bytes after which a page of a log ends; a record is never cut."""
    allow_edits: bool = False
    """Whether an operator may change the state of a match by hand; else that is
    answered `edits_not_allowed`."""
    resolver_timeouts_max: int = 3
    """Budgets that a match's game may overrun within `resolver_timeouts_s` seconds;
    at the last one the match is quarantined."""
    resolver_timeouts_s: int = 60
    """Seconds after which an overrun is forgotten."""

    def validate(self) -> tuple[str, ...]:
        """Every fault, as one sentence each; empty when all is well."""
        faults = _not_positive(self)
        if self.payload_bytes_max > self.mailbox_bytes_max:
            faults.append(
                f"payload_bytes_max ({self.payload_bytes_max}) must fit into "
                f"mailbox_bytes_max ({self.mailbox_bytes_max})"
            )
        return tuple(faults)


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """Bounds of one node's matches. All are positive."""

    match: MatchOptions = MatchOptions()
    """Bounds of each match."""
    matches_max: int = 20_000
    """Matches with an actor, ended ones too; one more is answered `node_full`, or
    `busy` if it exists already."""
    rest_after_s: int = 30
    """Seconds without an action after which a match gives up its task."""
    put_away_after_s: int = 300
    """Seconds at rest after which it gives up its actor, if nobody watches it. Its
    committed state is kept, and wakes when it is asked."""
    match_input_bytes_max: int = 256 * 1024
    """Bytes of the packed match input; more is answered `too_large`."""
    ended_kept_max: int = 2_000
    """Ended matches kept for their log and late answers; the oldest goes first."""
    ended_kept_s: int = 600
    """Seconds that an ended match is kept."""
    tombstones_max: int = 100_000
    """Dropped matches whose creation key is remembered; the oldest goes first."""
    traced_actions: int = 4096
    """The newest actions of which it is remembered when each came, was judged,
    committed and answered, here or as a copy: about 1 KiB each (see `hotseat match
    explain`)."""
    resolver_budget_s: float = 0.1
    """Seconds of processor time after which a call of a game's code is interrupted."""

    def validate(self) -> tuple[str, ...]:
        """Every fault, as one sentence each; empty when all is well."""
        faults = _not_positive(self)
        faults += [f"match.{fault}" for fault in self.match.validate()]
        if self.ended_kept_max > self.matches_max:
            faults.append(
                f"ended_kept_max ({self.ended_kept_max}) must not exceed "
                f"matches_max ({self.matches_max})"
            )
        return tuple(faults)


def _not_positive(options: MatchOptions | SupervisorOptions) -> list[str]:
    return [
        f"{field.name} must be positive, not {value}"
        for field in fields(options)
        if isinstance(value := getattr(options, field.name), (int, float))
        and not isinstance(value, bool)
        and not value > 0  # nor is it a NaN
    ]
