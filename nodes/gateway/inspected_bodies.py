"""What an inspector's page is told of a match: the shapes.

They show all that an operator may see, and so what players hide from each other; but
neither the seed nor the generator's state: from these follows what is not drawn yet.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "BranchBody",
    "ChangeBody",
    "ControlBody",
    "EvaluationBody",
    "FrameBody",
    "FramesBody",
    "GraphBody",
    "GraphEdgeBody",
    "GraphStateBody",
    "HandoffBody",
    "OpenedBody",
    "OperatorBody",
    "ProblemBody",
    "QueuedBody",
    "SeenBody",
    "TakenBody",
    "TimelineBody",
    "TimelineRow",
]

Status = Literal["live", "ended", "quarantined", "away", "lost", "file"]


class ProblemBody(msgspec.Struct, frozen=True):
    """Why something cannot be shown."""

    code: str
    message: str


class TimelineRow(msgspec.Struct, frozen=True):
    """A revision in a line. `kind` is `initial` for revision 0, else the step's."""

    revision: int
    turn: int
    kind: str
    event: str | None
    seat: str | None
    state: str


class TimelineBody(msgspec.Struct, frozen=True):
    """A match, and a page of its revisions.

    `head` is the newest revision that can be shown. `status`: `live` grows; `away`:
    nobody answers for it now, and it is asked again; `lost`: nothing more is heard of
    it; `file`: it is none of the cluster's. `next` begins the next page; null: there is
    none. `problem` says why the rows end early, or why it is away or lost.
    """

    match: str
    game: str
    version: str
    seats: list[str]
    status: Status
    head: int
    rows: list[TimelineRow]
    next: int | None
    problem: ProblemBody | None


class GraphStateBody(msgspec.Struct, frozen=True):
    """A state; `path` leads from the root to it."""

    id: str
    kind: Literal["compound", "leaf"]
    parent: str | None
    path: list[str]


class GraphEdgeBody(msgspec.Struct, frozen=True):
    """A transition. A deadline's event is `__timeout`."""

    event: str
    source: str
    target: str
    resolver: str | None
    turn: str


class GraphBody(msgspec.Struct, frozen=True):
    """The game's states and transitions, in the order of their declaration."""

    initial: str
    nodes: list[GraphStateBody]
    edges: list[GraphEdgeBody]


class ChangeBody(msgspec.Struct, frozen=True):
    """A place that changed. What is absent on a side is null there."""

    path: str
    before: Any
    after: Any


class BranchBody(msgspec.Struct, frozen=True):
    """A transition that was asked, and its answer. `rejectedBy`: `resolver` said no
    without a word, `reject` with a reason."""

    source: str
    target: str
    resolver: str | None
    matched: bool
    taken: bool
    rejectedBy: Literal["resolver", "reject"] | None
    reason: str | None
    details: Any


class EvaluationBody(msgspec.Struct, frozen=True):
    """A state that was asked, the leaf first, and its branches in their order."""

    source: str
    outcome: Literal["selected", "no_match"]
    branches: list[BranchBody]


class QueuedBody(msgspec.Struct, frozen=True):
    """An event that a resolver queued."""

    event: str
    payload: Any


class TakenBody(msgspec.Struct, frozen=True):
    """The transition that was taken. `source` is the state where it is declared, `left`
    the leaf that was left; `draws` how much chance it used."""

    event: str
    source: str
    left: str
    target: str
    resolver: str | None
    turn: str
    queued: list[QueuedBody]
    draws: int
    profile: Any


class ControlBody(msgspec.Struct, frozen=True):
    """What the state says of itself. `deadline` is in ms since 1970."""

    label: str | None
    deadline: int | float | None
    control: Any


class HandoffBody(msgspec.Struct, frozen=True):
    """How control went on: in a word, and in a sentence."""

    kind: str
    label: str
    summary: str


class OperatorBody(msgspec.Struct, frozen=True):
    """Who did it, if it was an operator. `op` is the command's id."""

    op: str
    who: str
    why: str


class SeenBody(msgspec.Struct, frozen=True):
    """What the asked seat, or a spectator, may see; `problem`: the view fails."""

    view: Any
    step: Any
    diff: list[ChangeBody]
    diffMore: int
    problem: str | None


class FrameBody(msgspec.Struct, frozen=True):
    """A revision: what happened, why, and what it is now.

    `at` is in ms since 1970. `diff` is what the step changed in `G`; `diffMore` says
    how many changes are left out. `seen` is null unless a seat was asked for.
    """

    revision: int
    turn: int
    kind: str
    event: str | None
    seat: str | None
    payload: Any
    at: int | float
    actionID: str | None
    path: list[str]
    active: list[str]
    pending: list[str]
    taken: TakenBody | None
    evaluations: list[EvaluationBody]
    diff: list[ChangeBody]
    diffMore: int
    G: Any
    selectors: Any
    result: Any
    control: ControlBody | None
    controlProblem: str | None
    handoff: HandoffBody
    operator: OperatorBody | None
    seen: SeenBody | None


class FramesBody(msgspec.Struct, frozen=True):
    """Revisions that follow each other; fewer than asked where the answer is full.
    `problem` says why the next one cannot be shown."""

    frames: list[FrameBody]
    problem: ProblemBody | None


class OpenedBody(msgspec.Struct, frozen=True):
    """A file that can be looked at, for a while. The same file has the same id."""

    id: str
    timeline: TimelineBody
