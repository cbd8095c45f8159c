"""The pure core: a snapshot and an event give a batch, or a refusal.

Rules:
- No log, no clock, no state: a machine is compiled once per game and shared by all of
  its matches. Everything it returns is immutable.
- A refusal changes nothing, whatever had happened in the batch before it.
- A step costs what it changes: nothing here walks G, copies it, or looks at a log.
- An exception of author code becomes a refusal with a fault for the operator. Only
  `Exception` is caught: what interrupts a resolver from outside passes through.

It must not know who is connected, what is stored, or how records are numbered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import msgspec

from .answer import NOTHING, Outcome, read_answer
from .context import EventInput
from .definition import Game
from .derive import DerivationFailed
from .draft import close
from .errors import (
    DefinitionError,
    InvalidGameError,
    InvalidJsonValueError,
    InvalidMatchError,
    SnapshotError,
    TooDeepError,
)
from .frozen import FDict, freeze
from .jsonvalue import Json
from .limits import INTERNAL_EVENTS_MAX
from .match_input import normalize_match_input
from .matching import Family, Question, Selection, select
from .overflow import overflow
from .payload import read_payload
from .profiles import hydrate_profiles
from .refusal import Refusal, blame, fault_from, refuse
from .rng import initial_rng
from .snapshot import Meta, Position, Snapshot
from .step import (
    TIMEOUT_EVENT,
    Batch,
    EventRecord,
    EventType,
    RngTrace,
    Step,
    StepKind,
    TransitionRecord,
)
from .table import LeafTable, compile_tables
from .topology import Node, build_topology
from .validate import examine_start, examine_structure
from .view import draw_player_view, draw_public_view, list_legal_actions

__all__ = ["Machine", "compile_game"]

# Names that only the engine may queue, declared or not.
_INTERNAL_PREFIX = "__gamekit_"

_TYPES: dict[StepKind, EventType] = {
    "action": "event",
    "internal": "internal",
    "timeout": "timeout",
}


class Machine:
    """A compiled game."""

    __slots__ = ("_external", "_structure", "_tables", "game", "nodes")

    def __init__(
        self, game: Game, nodes: Mapping[str, Node], tables: dict[str, LeafTable]
    ) -> None:
        self.game = game
        self.nodes = nodes
        self._tables = tables
        self._structure = examine_structure(game)
        self._external = {
            name: declared
            for name, declared in game.events.items()
            if name != TIMEOUT_EVENT and not name.startswith(_INTERNAL_PREFIX)
        }

    def start(self, match: object, seed: str, now: int | float) -> Snapshot:
        """The first snapshot of a match, at revision 0.

        Raises:
            InvalidMatchError: the players, the configuration or the seed are wrong.
            InvalidGameError: the game does not pass validation; carries the report.
            InvalidJsonValueError: `now` is not a finite number.
        """
        now = _checked_now(now)
        seed = _checked_seed(seed)
        seated = hydrate_profiles(self.game, normalize_match_input(self.game, match))
        report, G = examine_start(
            self.game, self._structure, seated, now=now, seed=seed
        )
        if not report.ok:
            raise InvalidGameError(report)
        node = self.nodes[self.game.initial]
        position = Position(node.name, node.path, 1)
        meta = Meta(seated, now, None, initial_rng(seed), seed)
        return self._derived(G, position, meta, 0)

    def restore(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot from elsewhere, with what derives from it derived anew.

        Raises:
            SnapshotError: it does not stand in a leaf of this game.
            InvalidGameError: the game does not pass validation; carries the report.
        """
        if not self._structure.report.ok:
            raise InvalidGameError(self._structure.report)
        node = self.nodes.get(snapshot.position.name)
        if node is None or not node.is_leaf:
            what = "is not declared" if node is None else "is not a leaf"
            raise SnapshotError(f'state "{snapshot.position.name}" {what}')
        position = Position(node.name, node.path, snapshot.position.turn)
        return self._derived(snapshot.G, position, snapshot.meta, snapshot.revision)

    def apply(
        self,
        snapshot: Snapshot,
        player_id: str,
        event: str,
        payload: object = None,
        *,
        now: int | float,
        action_id: str,
        by_operator: bool = False,
    ) -> Batch | Refusal:
        """Answer a player's event.

        `by_operator`: an operator dispatches it for the seat, which may do so out of
        turn if the game answers to it then.

        Raises:
            InvalidJsonValueError: `now` is not a finite number.
        """
        meta = snapshot.meta
        if meta.result is not None:
            return refuse("game_over")
        if player_id not in meta.match["players"]:
            return refuse("unknown_player")
        active = player_id in snapshot.derived.active_players
        if not (active or by_operator):
            return refuse("inactive_player")
        declared = self._external.get(event) if isinstance(event, str) else None
        if declared is None:
            return refuse("unknown_event")
        try:
            frozen = freeze(payload, label="the payload")
        except TooDeepError as error:
            return refuse("too_deep", str(error))
        except InvalidJsonValueError as error:
            return refuse("non_serializable_args", str(error))
        given = read_payload(event, declared, frozen)
        if isinstance(given, Refusal):
            return given
        question = Question(snapshot, _checked_now(now), given, player_id, action_id)
        chain = self._tables[snapshot.position.name].chains.get(event, ())
        step = self._step("action", question, frozen, chain)
        if isinstance(step, Refusal):
            unanswered = step.code == "invalid_event" and not active
            return refuse("inactive_player") if unanswered else step
        return self._drain(step, question)

    def fire_timeout(
        self, snapshot: Snapshot, *, now: int | float, action_id: str
    ) -> Batch | Refusal | None:
        """Take the transition of a deadline that has passed.

        None when there is no deadline at or before `now`, the match is over, or no
        timeout transition answers. A refusal means that the game failed: the timeout
        has not fired, and will not by itself.

        Raises:
            InvalidJsonValueError: `now` is not a finite number.
        """
        now = _checked_now(now)
        deadline = snapshot.derived.control_meta.deadline
        if snapshot.meta.result is not None or deadline is None or deadline > now:
            return None
        chain = self._tables[snapshot.position.name].timeouts
        given = EventInput(TIMEOUT_EVENT, None)
        question = Question(snapshot, now, given, None, action_id)
        step = self._step("timeout", question, None, chain)
        if isinstance(step, Refusal):
            return None if step.code == "invalid_event" else step
        return self._drain(step, question)

    def restate(self, snapshot: Snapshot, G: Json, *, event: str) -> Snapshot | Refusal:
        """The next revision, with another frozen G where the match stands.

        Position, turn, result, rng and the time of the last event stay. `event` names
        in a fault what it was for. Refuses with position_missing or derivation_error.
        """
        node = self.nodes.get(snapshot.position.name)
        if node is None or not node.is_leaf:
            name, version = snapshot.position.name, self.game.version
            text = f'The match stands in "{name}"; version {version} has no such state.'
            return refuse("position_missing", text)
        position = Position(node.name, node.path, snapshot.position.turn)
        meta = snapshot.meta
        try:
            derived = self._tables[node.name].derivation.derive(
                G, position, meta.match, meta.now
            )
        except DerivationFailed as failed:
            fault = fault_from(failed.error, event=event, label=failed.what)
            return refuse("derivation_error", fault=fault)
        return Snapshot(G, position, derived, meta, snapshot.revision + 1)

    def public_view(self, snapshot: Snapshot) -> Json:
        """What a spectator may see, frozen.

        Raises:
            ViewError: the view raised or is not JSON.
        """
        return draw_public_view(self.game, snapshot)

    def player_view(self, snapshot: Snapshot, seat: str) -> Json:
        """What a seat may see, frozen.

        Raises:
            ViewError: the view raised or is not JSON.
        """
        return draw_player_view(self.game, snapshot, seat)

    def legal_actions(self, snapshot: Snapshot, seat: str) -> list[tuple[str, Json]]:
        """What the game says a seat may do now: events and their payloads.

        Raises:
            ViewError: the game's `legal_actions` raised or gave something else.
        """
        return list_legal_actions(self.game, snapshot, seat)

    def _derived(
        self, G: Json, position: Position, meta: Meta, revision: int
    ) -> Snapshot:
        derivation = self._tables[position.name].derivation
        try:
            derived = derivation.derive(G, position, meta.match, meta.now)
        except DerivationFailed as failed:
            raise DefinitionError(str(failed)) from failed.error
        return Snapshot(G, position, derived, meta, revision)

    def _drain(self, first: Step, question: Question) -> Batch | Refusal:
        """Run the internal events that a step queued, first in, first out."""
        if not first.transition.enqueued:
            return Batch((first,), first.snapshot)
        queue = deque(first.transition.enqueued)
        steps = [first]
        queued = len(queue)
        while queue:
            if queued > INTERNAL_EVENTS_MAX:
                return overflow(steps, queue)
            entry = queue.popleft()
            given = read_payload(
                entry.kind, self.game.events[entry.kind], entry.payload
            )
            if isinstance(given, Refusal):
                refusal = refuse("invalid_transition_result", given.message)
                label = f"the payload of {entry.kind}, which was queued"
                return blame(refusal, event=entry.kind, label=label, function=None)
            before = steps[-1].snapshot
            asked = msgspec.structs.replace(question, before=before, event=given)
            chain = self._tables[before.position.name].chains.get(entry.kind, ())
            step = self._step("internal", asked, entry.payload, chain)
            if isinstance(step, Refusal):
                return step
            steps.append(step)
            queue.extend(step.transition.enqueued)
            queued += len(step.transition.enqueued)
        return Batch(tuple(steps), steps[-1].snapshot)

    def _step(
        self,
        kind: StepKind,
        question: Question,
        payload: Json,
        chain: tuple[Family, ...],
    ) -> Step | Refusal:
        """Match one event and take its transition."""
        before = question.before
        event = question.event.kind
        selection = select(chain, question, none_matches=kind == "timeout")
        if isinstance(selection, Refusal):
            return selection
        edge, outcome = selection.edge, self._read(selection, event, before.meta.match)
        if selection.drafted is not None:
            close(selection.drafted)
        if isinstance(outcome, Refusal):
            return outcome
        target = edge.target
        assert target is not None, f"a transition leads to no state: {edge.matched}"
        turn = edge.turn if outcome.turn is None else outcome.turn
        position = _moved(before.position, target, turn)
        G = before.G if outcome.G is None else outcome.G
        meta, trace = _next_meta(before.meta, question.now, selection, outcome)
        try:
            derivation = self._tables[target.name].derivation
            derived = derivation.derive(G, position, meta.match, meta.now)
        except DerivationFailed as failed:
            fault = fault_from(failed.error, event=event, label=failed.what)
            return refuse("derivation_error", fault=fault)
        return Step(
            kind,
            EventRecord(
                question.action_id,
                question.now,
                event,
                payload,
                question.player_id if kind == "action" else None,
                before.position.turn,
                _TYPES[kind],
            ),
            TransitionRecord(
                outcome.enqueued,
                event,
                selection.evaluations,
                before.position.name,
                before.position.path,
                edge.source.name,
                edge.source.path,
                outcome.profile,
                edge.name,
                trace,
                target.name,
                target.path,
                turn,
            ),
            Snapshot(G, position, derived, meta, before.revision + 1),
        )

    def _read(
        self, selection: Selection, event: str, match: FDict
    ) -> Outcome | Refusal:
        """What the chosen resolver asks for; a refusal names it."""
        if selection.answer is None:
            return NOTHING
        name, resolve = selection.edge.name, selection.edge.resolve
        try:
            outcome = read_answer(selection.answer, self.game.events, match)
        except Exception as error:
            fault = fault_from(error, event=event, label=name, function=resolve)
            return refuse("resolver_error", fault=fault)
        if isinstance(outcome, Refusal):
            return blame(outcome, event=event, label=name, function=resolve)
        return outcome


def compile_game(game: Game) -> Machine:
    """Prepare a game to be played: once, for all of its matches.

    Raises:
        DefinitionError: the states do not form a tree.
    """
    if game.compiled is None:
        nodes = build_topology(game)
        machine = Machine(game, nodes, compile_tables(game, nodes))
        object.__setattr__(game, "compiled", machine)
    compiled: Machine = game.compiled
    return compiled


def _moved(position: Position, target: Node, turn: str) -> Position:
    if turn == "increment":
        return Position(target.name, target.path, position.turn + 1)
    if target.name == position.name:
        return position
    return Position(target.name, target.path, position.turn)


def _next_meta(
    meta: Meta, now: int | float, selection: Selection, outcome: Outcome
) -> tuple[Meta, RngTrace | None]:
    rng, trace = meta.rng, None
    drawn = selection.rng
    if drawn is not None and drawn.has_drawn_since(rng):
        after = drawn.snapshot()
        trace = RngTrace(rng.state, after.state, after.draws - rng.draws)
        rng = after
    match = meta.match if outcome.match is None else outcome.match
    result = outcome.result if outcome.sets_result else meta.result
    return Meta(match, now, result, rng, meta.seed), trace


def _checked_now(now: int | float) -> int | float:
    if type(now) is int:
        return now
    checked = freeze(now, label="now")
    if isinstance(checked, bool) or not isinstance(checked, (int, float)):
        raise InvalidJsonValueError("now", "$", "a time in milliseconds is wanted")
    return checked


def _checked_seed(seed: object) -> str:
    if type(seed) is str and seed.isascii():
        return seed
    try:
        checked = freeze(seed, label="seed")
    except InvalidJsonValueError as error:
        raise InvalidMatchError(str(error), code="invalid_seed") from error
    if not isinstance(checked, str):
        raise InvalidMatchError("the seed must be a string", code="invalid_seed")
    return checked
