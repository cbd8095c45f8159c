"""The check of hidden information: two worlds that only one seat can tell apart.

    assert_no_leak(
        game,
        SecretAction("0", "choose", {"hand": "rock"}, {"hand": "paper"}),
        until=lambda one, other: not one.G["choices"],
    )

A random match is played up to a place where the secret comes to be. There the worlds
part, and go on with the same actions. Whatever reaches another seat or a spectator must
be the same in both, byte for byte, until the rules reveal the secret: views, redacted
steps, labels, control, metadata, deadlines, selectors, results, legal actions, and what
is answered to whatever that seat may try. Actions that keep the secret are preferred,
so that it is looked at for long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NoReturn, TypeAlias

from ..context import StateContext
from ..definition import Game
from ..jsonvalue import Json
from ..machine import Machine
from ..refusal import Refusal
from ..rng import Rng, initial_rng, rng_from
from ..session import Session
from ..step import Batch
from .attempt import Attempt, Attempts
from .playout import playout_seats, random_playout
from .received import ValueGap, find_gap, received_by, told
from .secret import Fork, Secret, World, find_forks
from .states import context_of
from .transcript import action_text, json_text, place_text, transcript_of

__all__ = ["LeakFault", "Until", "assert_no_leak"]

Until: TypeAlias = Callable[[StateContext, StateContext], object]
"""Whether the rules have revealed the secret, of the same moment in both worlds."""

ACTION_EVERY_MS = 10
ACTIONS_MAX = 1_000  # of one look at two worlds
CANDIDATES_MAX = 12  # actions tried for one that keeps the secret
ATTEMPTS = 20  # that a seat makes at each state


class LeakFault(AssertionError):
    """A secret reaches somebody who may not know it; or nothing could be compared.

    `stream`, `revision`, `to` (None is a spectator) and `path` say where it does.
    """

    stream: str | None = None
    revision: int | None = None
    to: str | None = None
    path: str | None = None


def assert_no_leak(
    game: Game,
    secret: Secret,
    *,
    until: Until | None = None,
    seeds: Iterable[str] = ("a", "b", "c", "d"),
    players: Sequence[str] | None = None,
    config: Json = None,
    attempts: Sequence[Attempt] = (),
    private_selectors: Collection[str] = (),
) -> None:
    """Play pairs of worlds that differ in the secret, one pair for each seed.

    `until(one, other)` gets the state contexts of both worlds and says whether the
    rules have revealed the secret; without it, it stays one to the end. The game must
    list its legal actions. `attempts` are events and payloads that other seats try at
    every state, beside random ones. `private_selectors` are never shown by its host.

    Raises:
        LeakFault: The first byte that differs: in which stream, for whom, when, where.
            Or the worlds never differed and kept the secret, so that nothing was
            compared.
        PlayoutError: A random match comes to no end.
        InvalidGameError, InvalidMatchError: A match cannot start.
    """
    compared = 0
    for number, seed in enumerate(seeds):
        seats = players or playout_seats(game, number)
        played = random_playout(game, seed, players=seats, config=config)
        rng = rng_from(initial_rng(f"leak {seed}"))
        tried = Attempts(played, attempts, rng)
        look = _Look(played, secret, until or _never, tried, rng, private_selectors)
        compared += look.compare()
    if not compared:
        raise LeakFault(
            f"{game.name}: nothing was compared; the secret never came to be, made no "
            "difference, or was revealed at once. Check the secret and `until`"
        )


def _never(one: StateContext, other: StateContext) -> bool:
    return False


class _Look:
    """One pair of worlds, from where they part to where the secret is out."""

    def __init__(
        self,
        played: Session,
        secret: Secret,
        until: Until,
        attempts: Attempts,
        rng: Rng,
        private_selectors: Collection[str],
    ) -> None:
        self._machine: Machine = played.machine
        self._played = played
        self._secret = secret
        self._until = until
        self._private = private_selectors
        self._attempts = attempts
        self._rng = rng
        players: list[str] = played.snapshot.meta.match["players"]
        self._others = [seat for seat in players if seat != secret.seat]
        self._lines: list[tuple[str, str]] = []

    def compare(self) -> int:
        """How many states were compared.

        Raises:
            LeakFault: They differ for somebody who may not know.
        """
        forks = [
            fork
            for fork in find_forks(self._secret, self._played)
            if not self._is_out(fork.one, fork.other)
        ]
        if not forks:
            return 0
        fork: Fork = self._rng.pick(forks)
        one, other, lines = fork
        self._lines = list(lines)
        for number in range(1, ACTIONS_MAX + 1):
            for to in (None, *self._others):
                self._compare_received(one, other, to)
                if to is not None:
                    self._compare_answers(one, other, to)
            if one.snapshot.meta.result is not None:
                return number
            after = self._advance(one, other)
            if after is None:
                return number
            one, other = after
        return ACTIONS_MAX

    def _is_out(self, one: World, other: World) -> bool:
        """Whether the rules have revealed the secret."""
        return bool(self._until(context_of(one.snapshot), context_of(other.snapshot)))

    def _compare_received(self, one: World, other: World, to: str | None) -> None:
        pairs = zip(
            received_by(self._machine, one, to, self._private),
            received_by(self._machine, other, to, self._private),
            strict=True,  # "steps" is compared first
        )
        for sent, also_sent in pairs:
            gap = find_gap(sent[1:], also_sent[1:])
            if gap is not None:
                gap = find_gap(sent.value, also_sent.value) or gap
                self._fail(sent.stream, sent.revision, to, gap)

    def _compare_answers(self, one: World, other: World, to: str) -> None:
        """What a seat is told when it tries things."""
        if to not in one.snapshot.derived.active_players:
            return  # the engine itself refuses, whatever is tried
        for event, payload in self._attempts.draw(ATTEMPTS):
            answers = [self._try(world, to, event, payload) for world in (one, other)]
            gap = find_gap(*map(told, answers))
            if gap is None:
                continue
            after = [
                World(answer.snapshot, answer.steps)
                if isinstance(answer, Batch)
                else world
                for world, answer in zip((one, other), answers, strict=True)
            ]
            if not self._is_out(*after):
                stream = f"answer to {action_text(to, event, payload)}"
                self._fail(stream, one.snapshot.revision, to, gap)

    def _advance(self, one: World, other: World) -> tuple[World, World] | None:
        """The same action in both worlds. None: the secret cannot be kept any longer,
        or there is nothing to do.
        """
        choices = self._choices(one, other)
        if not choices:
            return self._pass_deadline(one, other)
        for _ in range(min(CANDIDATES_MAX, len(choices))):
            seat, event, payload = choices.pop(self._rng.int_(len(choices)))
            answers = [self._try(world, seat, event, payload) for world in (one, other)]
            after = self._went_on(answers)
            if after is not None:
                self._note(action_text(seat, event, payload), after[0])
                return after
        return None

    def _choices(self, one: World, other: World) -> list[tuple[str, str, Json]]:
        """What may be done in both worlds."""
        choices = []
        for seat in one.snapshot.derived.active_players:
            there = self._machine.legal_actions(other.snapshot, seat)
            choices += [
                (seat, event, payload)
                for event, payload in self._machine.legal_actions(one.snapshot, seat)
                if (event, payload) in there
            ]
        return choices

    def _pass_deadline(self, one: World, other: World) -> tuple[World, World] | None:
        deadline = one.snapshot.derived.control_meta.deadline
        if deadline is None:
            return None
        now = max(deadline, one.snapshot.meta.now)
        after = self._went_on(
            [
                self._machine.fire_timeout(world.snapshot, now=now, action_id="timeout")
                for world in (one, other)
            ]
        )
        if after is not None:
            self._note(f"timeout at {now}", after[0])
        return after

    def _went_on(
        self, answers: Sequence[Batch | Refusal | None]
    ) -> tuple[World, World] | None:
        one, other = answers
        if not isinstance(one, Batch) or not isinstance(other, Batch):
            return None
        after = World(one.snapshot, one.steps), World(other.snapshot, other.steps)
        return None if self._is_out(*after) else after

    def _try(
        self, world: World, seat: str, event: str, payload: Json
    ) -> Batch | Refusal:
        snapshot = world.snapshot
        now = snapshot.meta.now + ACTION_EVERY_MS
        action_id = f"m_{snapshot.revision + 1}"
        return self._machine.apply(
            snapshot, seat, event, payload, now=now, action_id=action_id
        )

    def _note(self, done: str, world: World) -> None:
        self._lines.append((done, place_text(world.snapshot)))

    def _fail(
        self, stream: str, revision: int, to: str | None, gap: ValueGap
    ) -> NoReturn:
        whose = self._secret.seat
        secret = "nobody's secret" if whose is None else f"seat {whose}'s secret"
        whom = "a spectator" if to is None else f"seat {to}"
        fault = LeakFault(
            f"{self._played.game.name}: {secret} reaches {whom} at revision "
            f"{revision}: {stream}, at {gap.path}: {json_text(gap.one)} in one world, "
            f"{json_text(gap.other)} in the other\n"
            + transcript_of(self._played, self._lines)
        )
        fault.stream, fault.revision, fault.to = stream, revision, to
        fault.path = gap.path
        raise fault
