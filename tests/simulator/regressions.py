"""Seeds that have once found a fault, and what it was.

A seed's world changes when the simulator's draws do; they are run all the same.
"""

from __future__ import annotations

__all__ = ["REGRESSIONS"]

REGRESSIONS: dict[int, str] = {
    400289: "a learner was fed up to the last state that could be played, not record",
    401049: "a base that had been durable long ago was undone when a disk filled up",
    3: "a record that was read before the identity was known left the role idle",
    19: "in memory durability a failed journal was told to nobody",
    25: "a node without a game's version joined the in-sync set",
    33: "the role of an owner that starts again",
    127: "a disk that lies, and a kill between two power failures",
    162: "an idle owner never noticed that a follower had lost its memory",
    318: "a held move with an unresolved write was looked at without a pause",
    2120: "history of an install that the disk refused was gone",
    90372: "a queue longer than what may wait for a commit was never proposed",
    100637: "a copy that lacks the game was waited for, though another node has it",
    201442: "a state that stood still was played before its records were durable",
    201716: "a replica that was lost held the place of one that has the game",
    306: "history that had come was not handed on before it was durable",
    300902: "a home where a match was about to come could take no learner in",
    302132: "a process was let go in the middle of its start, and never ended",
    320789: "a late write landed after a disk's lie was judged (the simulator's fault)",
    301316: "whether a match leaves its shard was not seen when it was played on",
    300610: "a match that was over, and leaving its home, was forgotten at a start",
    302004: "an owner that waited for a copy waited with its install for a guest",
    302687: "a match was not served where it is pinned when an older fold was told",
    210059: "a match was served where it was about to come, and once more when it came",
    2880: "a match was put back where it had been pinned, at a start after its fold",
    203403: "a new owner pinned behind a record whose log went on elsewhere",
    29933562000: "a pinned match, stuck at its owner, was not taken in by a learner",
    29933562050: "a replica that has never served was taken for one that was lost",
    3459: "a replica that died before its record named it",
}
