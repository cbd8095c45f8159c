"""Seeds that have once found a fault, and what it was."""

from __future__ import annotations

__all__ = ["REGRESSIONS"]

REGRESSIONS: dict[int, str] = {
    3: "a record that was read before the identity was known left the role idle",
    19: "without durability, nobody was told that a group of the journal had failed",
    25: "a node without a game's version joined in-sync sets, and became the owner",
    33: "as 3",
    127: "the disk in memory replayed a log with a hole after it had lied",
    162: "an idle owner did not notice that a replica had lost its memory",
    318: "a held move with an unresolved write was looked at without a pause",
    2120: "history was lost when the disk refused during an install",
}
