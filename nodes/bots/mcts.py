"""A bot that looks ahead in any game: Monte Carlo tree search.

Each round imagines a match behind the view, follows the most promising moves through
the tree, adds one, plays on at random, and credits the result to the moves on the way.
What is hidden, and chance, are drawn anew in each round, so that a move is judged over
all that may lie behind the view, and never by what the seat cannot know.

The algorithm is single-observer information set MCTS (Cowling, Powley and Whitehouse,
"Information Set Monte Carlo Tree Search", 2012) with UCB1; where nothing is hidden it
is plain UCT (Kocsis and Szepesvari, 2006). Every player is taken to want most for
themselves. Those who act at the same time are taken one after the other, this seat
first: what others choose in secret is drawn, or thought of as an answer.

An action that wins at once is taken without a search. Strength grows with the rounds;
where matches are long, or rewards late, it is weak.
The same seed and number of rounds choose the same move.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from ...engine.imagine import Imagined
from ...engine.refusal import Refusal
from .bot import BotView, CannotDecide, Choice, LegalActions
from .rewards import EVEN, rewards

__all__ = ["Mcts"]

ROUNDS_MAX = 20_000
"""A tree of so many nodes takes some ten megabytes."""

PLIES_MAX = 400
"""Of one round: a match that takes longer counts as undecided."""

DEADLINES_MAX = 16
"""That pass in a row before nobody is taken to act any more."""

TRIED_AT_ONCE_MAX = 100
"""Legal actions, of which each is tried for whether it wins at once."""

DRAWS_OF_A_WIN = 3
"""In so many imagined matches it must win: what is hidden may let it."""

CURIOSITY = 0.7
"""Weighs moves that were tried seldom; rewards lie between 0 and 1."""

Move: TypeAlias = tuple[str, bytes]
"""A move in the tree: event, and payload as JSON."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Mcts:
    """Looks ahead for as long as it is given, or for so many rounds."""

    def __init__(
        self,
        *,
        rounds_max: int = ROUNDS_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rounds_max = rounds_max
        self._clock = clock

    def decide(
        self, view: BotView, legal_actions: LegalActions, rng: random.Random
    ) -> Choice:
        """The move that was tried most often.

        Raises:
            CannotDecide: There is no legal action, or the game's rules are not here.
            ImagineError: The game does not say how to imagine a match, or failed.
        """
        if not legal_actions:
            raise CannotDecide(f"{view.game!r} lists no legal action for {view.seat!r}")
        if len(legal_actions) == 1:
            return legal_actions[0]
        search = _Search(view, rng)
        until = self._clock() + view.think_s
        sure = search.winning(legal_actions)
        if sure is not None:
            return sure
        for _ in range(self._rounds_max):
            search.play_round()
            if self._clock() >= until:
                break
        return search.best(legal_actions)


class _Node:
    """What is known of one move, at one place of the tree."""

    __slots__ = ("available", "moves", "reward", "visits")

    def __init__(self) -> None:
        self.visits = 0
        self.reward = 0.0
        """To whoever made the move, over all visits."""
        self.available = 1
        """Rounds in which it could have been made here."""
        self.moves: dict[tuple[str, Move], _Node] = {}


class _Search:
    def __init__(self, view: BotView, rng: random.Random) -> None:
        self._view = view
        self._rng = rng
        self._root = _Node()

    def winning(self, legal_actions: LegalActions) -> Choice | None:
        """An action that wins at once, however little time there is."""
        left = list(legal_actions) if len(legal_actions) <= TRIED_AT_ONCE_MAX else []
        for _ in range(DRAWS_OF_A_WIN):
            if not left:
                return None
            match = self._view.imagine(self._rng)
            self._check(match)
            left = [choice for choice in left if self._wins(match, choice)]
        return self._rng.choice(left) if left else None

    def _wins(self, match: Imagined, choice: Choice) -> bool:
        seat = self._view.seat
        after = match.simulate(seat, *choice)
        if isinstance(after, Refusal) or after.result is None:
            return False
        worth = rewards(after.result, after.players)
        return worth[seat] > EVEN and worth[seat] == max(worth.values())

    def play_round(self) -> None:
        """One match, from here to its end, or as far as is looked."""
        match = self._view.imagine(self._rng)
        if not self._root.visits:
            self._check(match)
        node: _Node | None = self._root
        way = [(self._view.seat, self._root)]
        for _ in range(PLIES_MAX):
            asked = self._who_acts(match)
            if asked is None:
                break
            match, seat, legal = asked
            if node is None:
                choice = self._rng.choice(legal)
            else:
                choice, made = self._select(node, seat, legal)
                way.append((seat, made))
                node = made if made.visits else None  # from a new one on: at random
            after = match.simulate(seat, *choice)
            if isinstance(after, Refusal):
                break
            match = after
        worth = rewards(match.result, match.players)
        for seat, passed in way:
            passed.visits += 1
            passed.reward += worth[seat]

    def best(self, legal_actions: LegalActions) -> Choice:
        """The move that was tried most often; of several, the one that paid most."""
        tried = []
        for choice in legal_actions:
            node = self._root.moves.get((self._view.seat, _move(choice)))
            if node is not None:
                rank = (node.visits, node.reward, self._rng.random())
                tried.append((rank, choice))
        if not tried:
            raise CannotDecide(f"`imagine` of {self._view.game!r} offers other moves")
        return max(tried, key=lambda one: one[0])[1]

    def _check(self, match: Imagined) -> None:
        """A wrong `imagine` is found out, and not played by."""
        if match.view(self._view.seat) != self._view.view:
            raise CannotDecide(
                f"`imagine` of {self._view.game!r} makes a match that looks otherwise "
                f"to {self._view.seat!r}"
            )

    def _who_acts(self, match: Imagined) -> tuple[Imagined, str, LegalActions] | None:
        """The match when somebody can act, who, and how; None: nobody ever can."""
        mine = self._view.seat
        for _ in range(DEADLINES_MAX):
            if match.result is not None:
                return None
            active = match.active_players
            first = (mine,) if mine in active else ()
            for seat in (*first, *(other for other in active if other != mine)):
                legal = match.legal_actions(seat)
                if legal:
                    return match, seat, legal
            later = match.let_time_pass()
            if later is None or isinstance(later, Refusal):
                return None
            match = later
        return None

    def _select(
        self, node: _Node, seat: str, legal: LegalActions
    ) -> tuple[Choice, _Node]:
        """A move that is new here, or else the one that promises most."""
        new: list[Choice] = []
        best, best_score = None, -1.0
        for choice in legal:
            made = node.moves.get((seat, _move(choice)))
            if made is None:
                new.append(choice)
                continue
            made.available += 1
            wonder = math.sqrt(math.log(made.available) / made.visits)
            score = made.reward / made.visits + CURIOSITY * wonder
            if score > best_score:
                best, best_score = (choice, made), score
        if new:
            choice = self._rng.choice(new)
            made = node.moves[seat, _move(choice)] = _Node()
            return choice, made
        assert best is not None, "there is a legal action"
        return best


def _move(choice: Choice) -> Move:
    return choice[0], _encode(choice[1])
