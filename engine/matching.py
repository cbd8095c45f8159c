"""Which transition answers an event: strict matching, from the leaf to the root.

At each node of the path that has candidates, all of them are asked, each from the same
position of the rng, also after one has matched. Two answers at one node are an
ambiguity, and an author's mistake; one is taken, and parents are not asked; with none,
the parent is asked. A rejection stops nothing: it is the reason given when nobody
matches, and the first one seen counts, leaf before parent.

Alternatives of one decision (`alternative.py`) are candidates that share what they ask;
it is asked once for each event, and all of them hear the one answer.

Families are compiled once per leaf and event, with their evaluations ready-made, so
that matching builds nothing but the contexts it asks with, and records of rejections.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from .alternative import Alternative, Decided, Decision
from .context import EventInput, ResolverContext
from .draft import answer_of, close, require_returned
from .drafting import Drafted
from .frozen import freeze
from .game import Rejected, Resolver, Transition
from .interruption import Interruption
from .jsonvalue import Json
from .refusal import Refusal, blame, fault_from, refuse
from .rng import Rng
from .snapshot import Snapshot
from .step import Candidate, Evaluation
from .topology import Node

__all__ = ["Edge", "Family", "Question", "Selection", "make_family", "select"]

# What matches and changes nothing, beside an empty result.
_PLAIN: Final = (str, int, float, list, tuple)

# The context that was asked with, and the verdict.
_Heard: TypeAlias = tuple[ResolverContext, Any]


class Edge(msgspec.Struct, frozen=True):
    """A transition, compiled: what it leads to, and its records ready-made."""

    resolve: Resolver | None
    alternative: Alternative | None
    """The resolver again, if it is an alternative of a decision."""
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
    """By edge: the evaluation when it is taken and nobody rejected."""
    unmatched: Evaluation
    """The evaluation when everybody said no without a word."""
    routes: dict[Hashable, int] | None
    """When all are alternatives of one decision: the edge that each key leads to."""


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


class _Choice(msgspec.Struct, frozen=True):
    """What the candidates of a family said: which one is taken, if any."""

    at: int | None
    answer: Any
    ctx: ResolverContext | None
    rejected: dict[int, Rejected]


def make_family(
    event: str, node: Node, transitions: list[Transition], nodes: Mapping[str, Node]
) -> Family:
    """Compile the candidates of one event at one node."""
    edges = tuple(_edge(transition, node, nodes) for transition in transitions)
    silent = [edge.silent for edge in edges]
    selected = tuple(
        _evaluation(
            event,
            node,
            edge.matched.target,
            (*silent[:at], edge.matched, *silent[at + 1 :]),
        )
        for at, edge in enumerate(edges)
    )
    unmatched = _evaluation(event, node, None, tuple(silent))
    return Family(event, node, edges, selected, unmatched, _routes(edges))


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
    decided: dict[Decision, _Heard] = {}
    for family in chain:
        if family.routes is None or none_matches:
            choice = _survey(family, question, none_matches, decided, evaluations)
        else:
            choice = _route(family, family.routes, question, decided)
        if isinstance(choice, Refusal):
            return choice
        evaluations = (*evaluations, _evaluated(family, choice))
        if choice.at is not None:
            edge, ctx = family.edges[choice.at], choice.ctx
            if ctx is None:
                return Selection(edge, choice.answer, None, None, evaluations)
            return Selection(edge, choice.answer, ctx.rng, ctx.drafted, evaluations)
        if choice.rejected and rejection is None:
            rejection = next(iter(choice.rejected.values()))
    if rejection is None:
        return refuse("invalid_event", evaluations=evaluations)
    reason, details = rejection.reason, rejection.details
    return refuse(
        "invalid_event", reason=reason, details=details, evaluations=evaluations
    )


def _survey(
    family: Family,
    question: Question,
    none_matches: bool,
    decided: dict[Decision, _Heard],
    before: tuple[Evaluation, ...],
) -> _Choice | Refusal:
    """Ask every candidate. Refuses with ambiguous_transition or resolver_error."""
    matched: list[int] = []
    rejected: dict[int, Rejected] = {}
    chosen: tuple[ResolverContext | None, Any] = (None, None)
    for at, edge in enumerate(family.edges):
        ctx, answer = None, None
        if edge.resolve is not None:
            alternative = edge.alternative
            if alternative is None:
                heard = _ask(edge.resolve, edge, question, none_matches)
            else:
                decide = alternative.decide
                heard = _ask_once(decide, edge, question, none_matches, decided)
            if isinstance(heard, Refusal):
                return heard
            ctx, answer = heard
            if alternative is not None:
                answer = alternative.answer(answer)
            if answer is None:
                if not none_matches:
                    continue
            elif type(answer) is Rejected:
                rejected[at] = answer
                continue
        if not matched:
            chosen = ctx, answer
        matched.append(at)
    if len(matched) > 1:
        return _ambiguous(family, matched, rejected, before)
    return _Choice(matched[0] if matched else None, chosen[1], chosen[0], rejected)


def _route(
    family: Family,
    routes: Mapping[Hashable, int],
    question: Question,
    decided: dict[Decision, _Heard],
) -> _Choice | Refusal:
    """Ask the one decision of a family. Refuses with resolver_error."""
    edge = family.edges[0]
    assert edge.alternative is not None
    heard = _ask_once(edge.alternative.decide, edge, question, False, decided)
    if isinstance(heard, Refusal):
        return heard
    ctx, said = heard
    if type(said) is Decided:
        return _Choice(routes.get(said.key), said.answer, ctx, {})
    if type(said) is Rejected:
        return _Choice(None, None, None, dict.fromkeys(range(len(family.edges)), said))
    return _Choice(None, None, None, {})


def _ask_once(
    decision: Decision,
    edge: Edge,
    question: Question,
    none_matches: bool,
    decided: dict[Decision, _Heard],
) -> _Heard | Refusal:
    known = decided.get(decision)
    if known is not None:
        return known
    heard = _ask(decision, edge, question, none_matches)
    if not isinstance(heard, Refusal):
        decided[decision] = heard
    return heard


def _ask(
    resolve: Resolver, edge: Edge, question: Question, none_matches: bool
) -> _Heard | Refusal:
    """Ask one resolver, or one decision, on a context of its own.

    Refuses with resolver_error.
    """
    before = question.before
    meta = before.meta
    rng = meta.rng
    ctx: ResolverContext = ResolverContext(
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
    try:
        answer = resolve(ctx)
        if answer is not None:
            answer = _verdict(answer)
        if ctx.drafted is not None:
            _settle_draft(ctx, answer, none_matches=none_matches)
    except Exception as error:
        if ctx.drafted is not None:
            close(ctx.drafted)
        event = question.event.kind
        fault = fault_from(error, event=event, label=edge.name, function=resolve)
        return refuse("resolver_error", fault=fault)
    except Interruption as stop:
        stop.event = stop.event or question.event.kind
        stop.label = stop.label or edge.name
        raise
    return ctx, answer


def _verdict(answer: object) -> Any:
    """None for no match, a checked rejection, or the answer as it is.

    Raises:
        Exception: a rejection's words are not JSON, or a part of a draft was returned,
            or something that can only be a mistake: a coroutine, say, or a function.
    """
    if answer is False:
        return None
    if type(answer) is not dict:
        if type(answer) is Decided:
            return answer
        if isinstance(answer, Rejected):
            return _checked_rejection(answer.reason, answer.details)
        if isinstance(answer, Drafted):
            return answer_of(answer)
        if isinstance(answer, _PLAIN):
            return answer
        if not isinstance(answer, Mapping):
            raise TypeError(
                'a resolver returns a result, {"G": ...}, or reject(...), or None, not '
                f"a value of type {type(answer).__name__}"
            )
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
        given = answer.answer if type(answer) is Decided else answer
        require_returned(ctx.drafted, ctx.G, given)


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
    family: Family,
    matched: list[int],
    rejected: Mapping[int, Rejected],
    before: tuple[Evaluation, ...],
) -> Refusal:
    first, second = (family.edges[at] for at in matched[:2])
    candidates = _candidates(family, matched, rejected)
    asked = _evaluation(family.event, family.node, None, candidates)
    refusal = refuse(
        "ambiguous_transition",
        f'more than one transition of "{family.node.name}" answers '
        f'"{family.event}": {first.name or first.matched.target}, '
        f"{second.name or second.matched.target}",
        evaluations=(*before, asked),
    )
    event, label, function = family.event, second.name, second.resolve
    return blame(refusal, event=event, label=label, function=function)


def _evaluated(family: Family, choice: _Choice) -> Evaluation:
    at = choice.at
    if not choice.rejected:
        return family.unmatched if at is None else family.selected[at]
    candidates = _candidates(family, [] if at is None else [at], choice.rejected)
    target = None if at is None else family.edges[at].matched.target
    return _evaluation(family.event, family.node, target, candidates)


def _candidates(
    family: Family, matched: list[int], rejected: Mapping[int, Rejected]
) -> tuple[Candidate, ...]:
    return tuple(
        _rejected(edge, rejected[at])
        if at in rejected
        else (edge.matched if at in matched else edge.silent)
        for at, edge in enumerate(family.edges)
    )


def _evaluation(
    event: str, node: Node, target: str | None, candidates: tuple[Candidate, ...]
) -> Evaluation:
    outcome: Any = "no_match" if target is None else "selected"
    return Evaluation(event, node.name, target, outcome, node.path, candidates)


def _edge(transition: Transition, node: Node, nodes: Mapping[str, Node]) -> Edge:
    name, source, target = transition.resolver_name, node.name, transition.target
    return Edge(
        resolve=transition.resolve,
        alternative=transition.resolve
        if isinstance(transition.resolve, Alternative)
        else None,
        name=name,
        turn="preserve" if transition.turn is None else transition.turn,
        source=node,
        target=nodes.get(target),
        matched=Candidate(source, target, True, None, name),
        silent=Candidate(source, target, False, "resolver", name),
    )


def _routes(edges: tuple[Edge, ...]) -> dict[Hashable, int] | None:
    """Which key leads to which edge; None: not all are of one decision."""
    routes: dict[Hashable, int] = {}
    for at, edge in enumerate(edges):
        alternative, first = edge.alternative, edges[0].alternative
        if (
            alternative is None
            or first is None
            or alternative.decide is not first.decide
        ):
            return None
        if not routes.keys().isdisjoint(alternative.keys):
            return None
        routes.update(dict.fromkeys(alternative.keys, at))
    return routes
