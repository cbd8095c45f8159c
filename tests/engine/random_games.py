"""Random well-formed games, and what players might do in them.

A game is generated as data: a tree of states, transitions with small programs for
resolvers, deadlines. One description gives two games, alike but for the style in which
their resolvers write G: as a returned value, or as a draft.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from hotseat.engine import (
    Game,
    ResolverContext,
    State,
    StateContext,
    Transition,
    active_round_robin,
    define_game,
    enqueue,
    event,
    reject,
    state,
    timeout,
    transition,
    views,
)

__all__ = ["EVENTS", "PAYLOADS", "SEATS", "Plan", "game_of", "plans", "scripts"]

EVENTS = ("go", "tell", "count")
SEATS = ("0", "1", "2")
COUNT_OF_LEAVES = 3

PAYLOADS = st.none() | st.integers(-1, 3) | st.sampled_from(["x", {"a": [1]}, [], 1.5])
KEYS = st.sampled_from(["a", "b", "deep"])
VALUES = st.sampled_from([0, 1, "x", None, [1, [2]], {"k": {"l": 1}}, 2.0])

Program = list[tuple[Any, ...]]

# What a resolver says at its end, if nothing before it said something else.
ENDINGS = st.sampled_from([*["result"] * 9, "turn", "none", "draft", "draft"])
HARMLESS = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES),
    st.tuples(st.just("drop"), KEYS),
    st.tuples(st.just("push"), st.integers(0, 9)),
    st.tuples(st.just("pull"), st.just(0)),
    st.tuples(st.just("move"), KEYS, KEYS),
    st.tuples(st.just("draw"), st.integers(1, 3)),
    st.tuples(st.just("queue"), st.sampled_from(EVENTS), PAYLOADS),
    st.tuples(st.just("turn"), st.sampled_from(["increment", "preserve", "odd", 7])),
    st.tuples(st.just("luck"), st.just(0)),
)
TROUBLE = st.one_of(
    st.tuples(st.just("end"), st.sampled_from([None, {"won": "0"}, 0])),
    st.tuples(st.just("guard"), PAYLOADS),
    st.tuples(st.just("reject"), st.sampled_from([None, "no"]), PAYLOADS),
    st.tuples(
        st.just("raise"), st.sampled_from([ValueError, KeyError, RecursionError])
    ),
    st.tuples(st.just("spoil"), st.sampled_from(["set", "circle", "deep", "key"])),
    st.tuples(st.just("change"), st.just(0)),
)
# Mostly programs that go through: what is refused everywhere shows little.
PROGRAMS = st.one_of(
    *[st.lists(HARMLESS, max_size=5)] * 6, st.lists(HARMLESS | TROUBLE, max_size=4)
)


@dataclass(frozen=True)
class EdgePlan:
    """A transition; a timeout if it has no event."""

    event: str | None
    source: str
    target: str
    turn: str | None
    program: Program = field(default_factory=list)
    ending: str = "result"


@dataclass(frozen=True)
class Plan:
    """A game as data."""

    parents: dict[str, str | None]
    edges: list[EdgePlan]
    deadlines: dict[str, int]
    active: dict[str, list[str] | None]
    fragile: int
    """The length of the list in G from which on a label raises."""


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A game whose leaves can all be reached."""
    leaves = [f"leaf{n}" for n in range(COUNT_OF_LEAVES)]
    parents: dict[str, str | None] = {"root": None, "branch": "root"}
    for leaf in leaves:
        parents[leaf] = draw(st.sampled_from([None, "root", "branch"]))
    used = {part for leaf in leaves for part in _ancestors(leaf, parents)}
    parents = {name: parent for name, parent in parents.items() if name in used}
    chain = [
        EdgePlan("go", leaf, after, draw(TURNS), draw(PROGRAMS), draw(ENDINGS))
        for leaf, after in zip(leaves, [*leaves[1:], leaves[0]], strict=True)
    ]
    more = draw(
        st.lists(
            st.builds(
                EdgePlan,
                st.sampled_from(EVENTS),
                st.sampled_from(sorted(parents)),
                st.sampled_from(leaves),
                TURNS,
                PROGRAMS,
                ENDINGS,
            ),
            max_size=6,
        )
    )
    alarms = [
        EdgePlan(None, place, draw(st.sampled_from(leaves)), None, draw(PROGRAMS))
        for place in draw(st.sets(st.sampled_from(sorted(parents)), max_size=2))
    ]
    return Plan(
        parents,
        [*chain, *more, *alarms],
        draw(st.dictionaries(st.sampled_from(leaves), st.integers(0, 30))),
        {leaf: draw(ACTIVE) for leaf in leaves},
        draw(st.sampled_from([3, 100, 100, 100])),
    )


TURNS = st.sampled_from([None, None, "increment", "preserve"])
ACTIVE = st.sampled_from([None, None, ["0", "1"], ["0", "1"], ["1"], []])


def scripts() -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """What players do, each with a step of time: (seat, event, payload) or a timeout.

    The seat None is whoever may act.
    """
    actions = st.tuples(
        st.sampled_from([None, None, None, None, None, *SEATS, "9"]),
        st.sampled_from([*EVENTS, *["go"] * 9, "never"]),
        st.one_of(*[PAYLOADS] * 9, st.sampled_from([{1}, "\ud800"])),
        st.integers(0, 20),
    )
    timeouts = st.tuples(st.integers(20, 60))
    return st.lists(st.one_of(*[actions] * 5, timeouts), min_size=6, max_size=20)


def game_of(plan: Plan, *, drafted: bool) -> Game:
    """The game of a plan, in one of the two styles."""
    return define_game(
        name="random",
        player_ids=SEATS[:2],
        events={"go": event(), "tell": event(), "count": event(int)},
        initial="leaf0",
        setup=lambda ctx: {"list": [1], "deep": {"rows": [[0] * 20, [1]]}},
        states={name: _state(plan, name) for name in plan.parents},
        transitions=[
            _edge(edge, number, drafted) for number, edge in enumerate(plan.edges)
        ],
        selectors={"length": lambda ctx: len(ctx.G["list"])},
        views=views(public=lambda ctx: {"turn": ctx.turn.turn, "G": ctx.G}),
    )


def _ancestors(name: str | None, parents: dict[str, str | None]) -> list[str]:
    return [] if name is None else [name, *_ancestors(parents[name], parents)]


def _state(plan: Plan, name: str) -> State:
    if not name.startswith("leaf"):
        return state(parent=plan.parents[name])
    active = plan.active[name]
    after = plan.deadlines.get(name)

    def label(ctx: StateContext) -> str:
        if len(ctx.G["list"]) > plan.fragile:
            raise OverflowError("the label cannot be told")
        return f"{name} of {len(ctx.G)}"

    return state(
        parent=plan.parents[name],
        active_players=active_round_robin if active is None else active,
        deadline=None if after is None else lambda ctx: ctx.now + after,
        label=label,
    )


def _edge(plan: EdgePlan, number: int, drafted: bool) -> Transition:
    label = f"edge {number}"
    resolve = _resolver(plan, drafted)
    if plan.event is None:
        return timeout(plan.source, plan.target, resolve, label=label)
    return transition(
        plan.event, plan.source, plan.target, resolve, label=label, turn=plan.turn
    )


def _resolver(
    plan: EdgePlan, drafted: bool
) -> Callable[[ResolverContext[Any]], object]:
    def resolve(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft() if drafted else copy.deepcopy(ctx.G)
        answer: dict[str, Any] = {"G": G, "enqueue": []}
        for name, *given in plan.program:
            said = _run(name, given, ctx, G, answer)
            if said is not _GO_ON:
                return said
        if plan.ending == "result":
            return answer
        if plan.ending == "draft":
            return G if drafted else {"G": G}
        return {"G": G, "turn": "increment"} if plan.ending == "turn" else None

    return resolve


_GO_ON = object()


def _run(
    name: str, given: list[Any], ctx: ResolverContext[Any], G: Any, answer: Any
) -> object:
    """One instruction; most change G, and look the same in both styles."""
    match name, copy.deepcopy(given):
        case "set", [key, value]:
            G[key] = value
        case "drop", [key]:
            G.pop(key, None)
        case "push", [value]:
            G["list"].append(value)
            G["list"].sort()
        case "pull", _:
            del G["list"][:1]
        case "move", [one, other]:
            G[one] = [G.get(other)]
            if len(str(G)) > 1_000:
                G.update(a=1, b=2, deep={})
        case "draw", [count]:
            G["drawn"] = [ctx.rng.d6() for _ in range(count)]
        case "queue", [kind, payload]:
            answer["enqueue"].append(enqueue(kind, payload))
        case "turn", [word]:
            answer["turn"] = word
        case "end", [result]:
            answer["result"] = result
        case "guard", [payload]:
            return _GO_ON if ctx.event.payload == payload else False
        case "luck", _:
            return _GO_ON if ctx.rng.bool_() else None
        case "reject", [reason, details]:
            return reject(reason, details)
        case "raise", [kind]:
            raise kind("as planned")
        case "spoil", [how]:
            _spoil(how, G)
        case "change", _:
            ctx.G["list"].append(1)
    return _GO_ON


def _spoil(how: str, G: Any) -> None:
    """Make of G what is no JSON."""
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    if how == "circle":
        G["list"].append(G)
    elif how == "key":
        G[3] = 4
    else:
        G["bad"] = {1, 2} if how == "set" else deep
