"""One shard at one node: the replica's state machine, without I/O.

Inputs only note; `settle` does what follows from them, once per step. What is asked of
the outside goes into the node's `Effects`. See `docs/replication.md`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..control_plane import ShardRecord
from ..coordinator import CasOutcome
from .effects import Effects
from .me import Me
from .message import Piece, ShardMessage
from .options import ReplicationOptions
from .recovered import RecoveredShard
from .role import Role

__all__ = ["ShardReplica"]


class ShardReplica:
    """Call `settle` once after the inputs of a step, then collect `effects`."""

    def __init__(
        self,
        shard: int,
        me: Me,
        effects: Effects,
        options: ReplicationOptions,
        recovered: RecoveredShard | None = None,
        layout: tuple[str, ...] = (),
    ) -> None:
        """`layout` is who shall hold the shard, if its record must be made."""
        raise NotImplementedError

    role: Role
    epoch: int
    """The owner's epoch that this replica follows or owns; 0: none."""
    owner: str | None
    """By the record."""
    commit: int
    last_seq: int
    isr: tuple[tuple[str, str], ...]
    """By the record."""
    serving: bool
    stopped: str | None
    """The code of the alarm that stopped it."""

    # What the coordinator says.

    def observe(self, revision: int, record: ShardRecord | None, now_ms: int) -> None:
        """The record as of `revision`, as listed, watched, or as an own write left it.

        (0, None): a listing has shown that there is none. Older readings change
        nothing.
        """

    def answered(
        self, nonce: str, outcome: CasOutcome, moved: bool, now_ms: int
    ) -> None:
        """What became of the write `nonce`. `moved`: it is a conflict, and of this
        shard's key. Of `CasOk`, no separate `observe` is needed."""

    def stop(self, code: str, message: str) -> None:
        """The record cannot be believed (unreadable, went back): serve no more until
        a sound one is read."""

    # What other replicas say.

    def received(self, node: str, message: ShardMessage, now_ms: int) -> None:
        """A message from that node, over the link that is up now."""

    def alive(self, node: str, epoch: int, clock_ms: int, now_ms: int) -> None:
        """An `Alive` of `node` lists this shard in `epoch`. (That a node lives at all
        goes into `Me.heard`.)"""

    def refused(self, node: str, now_ms: int) -> None:
        """The link to `node` broke, and a connection to it was refused."""

    # What the disk says.

    def persisted(self, ticket: int, now_ms: int) -> None:
        """The groups up to `ticket` are durable."""

    def persist_failed(self, ticket: int, now_ms: int) -> None:
        """The group `ticket` and all later ones are lost, until `disk_ok`."""

    def disk_ok(self, now_ms: int) -> None:
        """The disk takes writes again; what it lacks is asked for once more."""

    # What the host says.

    def propose(
        self, items: Sequence[tuple[str, int, msgspec.Raw]], now_ms: int
    ) -> int:
        """Append records: (match, index, packed record) each.

        Returns the sequence number of the first; the others follow it. (During a
        planned change of owner they wait for theirs, but will have these.)

        Raises:
            NotServing: Ask the owner.
            ProposalsFull: Wait for commits.
            TooFewCopies: Wait for a follower to join.
        """
        raise NotImplementedError

    def confirm(self, now_ms: int) -> int:
        """Ask whether this epoch still stands; `Confirmed` answers.

        Raises:
            NotServing: Ask the owner.
        """
        raise NotImplementedError

    def feed(
        self,
        node: str,
        install: int,
        pieces: tuple[Piece, ...],
        cursor: str | None,
        now_ms: int,
    ) -> None:
        """The page that `Feed` asked for. `cursor` None: it was the last."""

    def state_copy(self, node: str, pieces: tuple[Piece, ...]) -> None:
        """The pieces that `StateWanted` asked for."""

    def ask_state(self, match: str) -> None:
        """Ask the owner for its state of this match."""

    def resign(self, now_ms: int) -> None:
        """Own it no more; its followers are asked to claim it. (Set
        `me.serving_allowed` to False first, if this node shall not claim again.)"""

    # Time, and what follows from the inputs.

    def tick(self, now_ms: int) -> None:
        """Time has passed."""

    def settle(self, now_ms: int) -> None:
        """Do what follows from the inputs since the last call; cheap if there were
        none. Needed after every input above, `tick` and `persisted` too, before the
        effects are taken."""

    def due_ms(self) -> int | None:
        """When `tick` (then `settle`) is needed next; asked after `settle`."""
        raise NotImplementedError

    def check(self) -> None:
        """The invariants. `settle` calls it.

        Raises:
            AssertionError: This core is wrong.
        """
