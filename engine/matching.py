"""Which transition answers an event: strict matching, from the leaf to the root.

At each node of the path that has candidates, all of them are asked, each from the same
position of the rng, also after one has matched. Two answers at one node are an
ambiguity, and an author's mistake; one is taken, and parents are not asked; with none,
the parent is asked. A rejection stops nothing: it is the reason given when nobody
matches, and the first one seen counts, leaf before parent.

Families are compiled once per leaf and event; a family of one candidate has its
evaluations ready-made, so that matching builds nothing but the context it asks with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .context import EventInput, ResolverContext
from .draft import answer_of, close, require_returned
from .drafting import Drafted
from .frozen import freeze
from .game import Rejected, Resolver, Transition
from .interruption import Interruption
from .jsonvalue import Json
from .refusal import Refusal, fault_from, refuse
from .rng import Rng
from .snapshot import Snapshot
from .step import Candidate, Evaluation
from .topology import Node

__all__ = ["Edge", "Family", "Question", "Selection", "make_family", "select"]


class Edge(msgspec.Struct, frozen=True):
    """A transition, compiled: what it leads to, and its records ready-made."""

    resolve: Resolver | None
    name: str | None
    turn: str
    source: Node
    target: Node | None
    """None when the target is missing, which validation refuses."""
    matched: Candidate
    silent: Candidate
    """The record of a "no" without a reason."""


class Family(msgspec.Struct, frozen=True):
    """The candidates of one event at one node, in the order of declaration."""

    event: str
    node: Node
    edges: tuple[Edge, ...]
    selected: tuple[Evaluation, ...]
    """By edge: the evaluation when a family of one is taken; else empty."""
    unmatched: Evaluation | None


class Question(msgspec.Struct, frozen=True):
    """What every candidate is asked with."""

    before: Snapshot
    now: int | float
    event: EventInput
    player_id: str | None
    action_id: str


class Selection(msgspec.Struct, frozen=True):
    """The edge that is taken, what its resolver said, and what it drew."""

    edge: Edge
    answer: Any
    rng: Rng | None
    drafted: Json
    """The draft that the resolver asked for; to be closed when its answer is read."""
    evaluations: tuple[Evaluation, ...]


def make_family(
    event: str, node: Node, transitions: list[Transition], nodes: Mapping[str, Node]
) -> Family:
    """Compile the candidates of one event at one node."""
    edges = tuple(_edge(transition, node, nodes) for transition in transitions)
    if len(edges) > 1:
        return Family(event, node, edges, (), None)
    edge = edges[0]
    selected = _evaluation(event, node, edge.matched.target, (edge.matched,))
    unmatched = _evaluation(event, node, None, (edge.silent,))
    return Family(event, node, edges, (selected,), unmatched)


def select(
    chain: tuple[Family, ...], question: Question, *, none_matches: bool = False
) -> Selection | Refusal:
    """Find the one transition that answers.

    `none_matches`: a resolver that returns nothing matches all the same (timeouts).
    Refuses with ambiguous_transition, resolver_error, or, when nobody matches, with
    invalid_event and the first rejection's words.
    """
    evaluations: tuple[Evaluation, ...] = ()
    rejection: Rejected | None = None
    for family in chain:
        chosen: Edge | None = None
        rival: Edge | None = None
        chosen_answer: Any = None
        chosen_ctx: ResolverContext | None = None
        candidates: list[Candidate] = []
        for edge in family.edges:
            answer: Any = None
            ctx: ResolverContext | None = None
            if edge.resolve is not None:
                ctx = _context(question)
                try:
                    answer = _verdict(edge.resolve(ctx))
                    if ctx.drafted is not None:
                        _settle_draft(ctx, answer, none_matches=none_matches)
                except Exception as error:
                    fault = fault_from(
                        error,
                        event=family.event,
                        label=edge.name,
                        function=edge.resolve,
                    )
                    return refuse("resolver_error", fault=fault)
                except Interruption as stop:
                    stop.event = stop.event or family.event
                    stop.label = stop.label or edge.name
                    raise
                if type(answer) is Rejected:
                    rejection = rejection or answer
                    candidates.append(_rejected(edge, answer))
                    continue
                if answer is None and not none_matches:
                    candidates.append(edge.silent)
                    continue
            candidates.append(edge.matched)
            if chosen is not None:
                rival = edge
            else:
                chosen, chosen_answer, chosen_ctx = edge, answer, ctx
        if chosen is not None and rival is not None:
            asked = _evaluation(family.event, family.node, None, tuple(candidates))
            return _ambiguous(family, chosen, rival, (*evaluations, asked))
        evaluations = (*evaluations, _evaluated(family, candidates, chosen))
        if chosen is not None:
            if chosen_ctx is None:
                return Selection(chosen, chosen_answer, None, None, evaluations)
            rng, drafted = chosen_ctx.rng, chosen_ctx.drafted
            return Selection(chosen, chosen_answer, rng, drafted, evaluations)
    if rejection is None:
        return refuse("invalid_event", evaluations=evaluations)
    reason, details = rejection.reason, rejection.details
    return refuse(
        "invalid_event", reason=reason, details=details, evaluations=evaluations
    )


def _context(question: Question) -> ResolverContext:
    before = question.before
    meta = before.meta
    rng = meta.rng
    return ResolverContext(
        before.G,
        before.position,
        before.derived,
        meta.match,
        question.now,
        question.event,
        question.player_id,
        question.action_id,
        Rng(rng.state, rng.draws, rng.seed),
    )


def _verdict(answer: object) -> Any:
    """None for no match, a checked rejection, or the answer as it is.

    Raises:
        Exception: a rejection's words are not JSON, or a part of a draft was returned.
    """
    if answer is None or answer is False:
        return None
    if type(answer) is not dict:
        if isinstance(answer, Rejected):
            return _checked_rejection(answer.reason, answer.details)
        if isinstance(answer, Drafted):
            return answer_of(answer)
        if not isinstance(answer, Mapping):
            return answer
    if answer.get("kind") == "reject":
        return _checked_rejection(answer.get("reason"), answer.get("details"))
    return answer


def _settle_draft(ctx: ResolverContext, answer: Any, *, none_matches: bool) -> None:
    """See that a draft that was asked for is returned, or can be thrown away.

    Raises:
        DraftError: it was changed, and the match that this answer is would lose it.
    """
    if type(answer) is Rejected or (answer is None and not none_matches):
        close(ctx.drafted)
    else:
        require_returned(ctx.drafted, ctx.G, answer)


def _checked_rejection(reason: object, details: Json) -> Rejected:
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"a reason is a string, not {type(reason).__name__}")
    return Rejected(
        freeze(reason, label="the reason"), freeze(details, label="the details")
    )


def _rejected(edge: Edge, rejection: Rejected) -> Candidate:
    return Candidate(
        edge.silent.source,
        edge.silent.target,
        False,
        "reject",
        edge.name,
        rejection.reason,
        rejection.details,
    )


def _ambiguous(
    family: Family, first: Edge, second: Edge, evaluations: tuple[Evaluation, ...]
) -> Refusal:
    return refuse(
        "ambiguous_transition",
        f'more than one transition of "{family.node.name}" answers '
        f'"{family.event}": {first.name or first.matched.target}, '
        f"{second.name or second.matched.target}",
        evaluations=evaluations,
    )


def _evaluated(
    family: Family, candidates: list[Candidate], chosen: Edge | None
) -> Evaluation:
    if len(candidates) == 1:
        if chosen is not None:
            return family.selected[0]
        if family.unmatched is not None and candidates[0].rejected_by == "resolver":
            return family.unmatched
    target = None if chosen is None else chosen.matched.target
    return _evaluation(family.event, family.node, target, tuple(candidates))


def _evaluation(
    event: str, node: Node, target: str | None, candidates: tuple[Candidate, ...]
) -> Evaluation:
    outcome: Any = "no_match" if target is None else "selected"
    return Evaluation(event, node.name, target, outcome, node.path, candidates)


def _edge(transition: Transition, node: Node, nodes: Mapping[str, Node]) -> Edge:
    name, source, target = transition.resolver_name, node.name, transition.target
    return Edge(
        resolve=transition.resolve,
        name=name,
        turn="preserve" if transition.turn is None else transition.turn,
        source=node,
        target=nodes.get(target),
        matched=Candidate(source, target, True, None, name),
        silent=Candidate(source, target, False, "resolver", name),
    )
