"""What the client's core remembers of one question, and of one node.

Plain data: what becomes of it, `core.py` decides. Times are in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...runtime.frame import Request
from .effect import Watch
from .outcome import Refusal

__all__ = ["Peer", "Question"]


@dataclass(slots=True, eq=False)
class Question:
    """One frame that wants one answer; a watch's wants one only if it is refused."""

    frame: Request
    match: str | None  # whose owner is asked; None: any node will do
    deadline: float
    watch: Watch | None = None
    ticket: int = 0
    due: float = 0.0  # when `tick` must look at it
    request: int = 0  # of the newest attempt
    sent_to: str = ""
    sent_at: float = 0.0
    owner: str = ""  # of its match, as far as was known when it was sent
    waiting: bool = False  # for an answer; otherwise for its next attempt
    attempts: int = 0
    hops: int = 0
    open_requests: list[int] = field(default_factory=list)
    told_unknown: bool = False
    resumed: bool = False  # its seat was taken back for it
    silent: bool = False  # nobody waits for it: the core's own
    paced: bool = False  # its first attempt is put off
    patient_until: float = -math.inf  # for so long it waits behind a crowd
    refusal: Refusal | None = None


@dataclass(slots=True)
class Peer:
    """What is known of a node at the other end of a link."""

    up: bool = False
    ups: int = 0
    down: bool = False  # it was up, or given up, at the address we reached
    heard: float = -math.inf
    suspect_until: float = -math.inf
