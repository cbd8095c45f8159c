"""Leads people and bots through a match: who acts next, what they see, what they say.

A seat sees its own view and nothing else. Where several people share the terminal, it
is handed over before another seat's view is shown.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.lowlevel

from ...engine.definition import Game
from ..client.view import View
from ..load.policy import Policy
from ..operator_error import OperatorError
from .show import (
    action_text,
    bare,
    payload_text,
    pretty,
    refusal_text,
    safe,
    step_text,
)
from .table import SPECTATOR, Table
from .terminal import Terminal
from .typed import COMMANDS, Act, Command, Unclear, read_typed

__all__ = ["Host", "Render"]

CHOICES_SHOWN_MAX = 40
Render = Callable[[Any], str]


class Host:
    """One match in one terminal. `bots` choose for their seats, people for the rest."""

    def __init__(
        self,
        game: Game,
        table: Table,
        terminal: Terminal,
        bots: Mapping[str, Policy],
        render: Render | None,
    ) -> None:
        self._game = game
        self._table = table
        self._terminal = terminal
        self._bots = bots
        self._render = render
        self._people = [seat for seat in table.seats if seat not in bots]
        # Whose view is on the screen: with one person it is theirs all along.
        self._shown = self._people[0] if len(self._people) == 1 else SPECTATOR
        self._told = dict.fromkeys((SPECTATOR, *table.seats), 0)  # revision, by seat
        self._last = ""  # who acted last
        self._passed: set[str] = set()  # who lets others act at `_passed_at`
        self._passed_at = -1

    async def run(self) -> None:
        """Play until the match has a result, or a person leaves.

        Raises:
            OperatorError: input_ended, or nobody can go on, or the game fails.
        """
        self._welcome()
        while True:
            view = await self._table.look(self._shown)
            if view.ended:
                break
            if not self._people:
                self._tell_news(SPECTATOR)
            seat = self._next(view)
            if seat is None:
                await self._wait_for_deadline(view)
            elif seat in self._bots:
                await self._bot_acts(seat)
            elif not await self._person_acts(seat):
                self._terminal.say("You left; the match has no result.")
                return
        await self._close(view)

    def _welcome(self) -> None:
        sits = [
            f"seat {safe(seat)} is {'a bot' if seat in self._bots else 'yours'}"
            for seat in self._table.seats
        ]
        typing = " Type help to see what you can do." if self._people else ""
        self._terminal.say(f"{safe(self._game.name)}: {', '.join(sits)}.{typing}")

    def _next(self, view: View) -> str | None:
        """Of those who may act, the one whose seat follows that of the last."""
        if view.revision != self._passed_at:
            self._passed, self._passed_at = set(), view.revision
        seats = list(self._table.seats)
        start = seats.index(self._last) + 1 if self._last in seats else 0
        for seat in seats[start:] + seats[:start]:
            if seat in view.active_players and seat not in self._passed:
                return seat
        return None

    async def _wait_for_deadline(self, view: View) -> None:
        if view.deadline_ms is None:
            people = self._passed & set(self._people)
            if people:
                self._terminal.say("nobody else can act now", "dim")
                self._passed -= people
                return
            raise OperatorError(
                "stuck",
                f'nobody can go on in state "{view.state}" at revision {view.revision}',
                hint="legal_actions lists nothing there, and there is no deadline",
            )
        self._terminal.say("waiting for the deadline", "dim")
        await self._table.moved(view.revision)

    async def _bot_acts(self, seat: str) -> None:
        await anyio.lowlevel.checkpoint()
        view = await self._table.look(seat)
        choice = self._bots[seat].choose(view) if view.my_turn else None
        if choice is None:
            self._passed.add(seat)
            return
        refusal = await self._table.act(seat, *choice)
        if refusal is None:
            self._last = seat
        elif (await self._table.look(seat)).revision == view.revision:
            raise OperatorError(
                refusal.code,
                f"the bot at seat {seat} chose {action_text(*choice)} from the legal "
                f"actions, but it was {refusal_text(refusal)}",
            )

    async def _person_acts(self, seat: str) -> bool:
        """One turn of a person; False when they leave."""
        if seat != self._shown and not await self._hand_over(seat):
            return False
        view = await self._table.look(seat)
        self._tell_news(seat)
        self._show(view)
        while True:
            line = await self._line_or_news(f"{safe(seat)}> ", view.revision)
            if line is None:
                return True
            typed = read_typed(line, view.legal or (), self._game.events)
            if isinstance(typed, Act):
                refusal = await self._table.act(seat, typed.event, typed.payload)
                if refusal is None:
                    self._last = seat
                    return True
                self._terminal.say(refusal_text(refusal), "warn")
                if (await self._table.look(seat)).revision != view.revision:
                    return True
            elif isinstance(typed, Unclear):
                self._terminal.say(typed.message, "warn")
            elif typed.name == "quit":
                return False
            elif typed.name == "wait":
                self._passed.add(seat)
                return True
            else:
                self._obey(typed, view)

    async def _hand_over(self, seat: str) -> bool:
        """Let another person take the screen, before anything of theirs is shown."""
        self._terminal.clear()
        prompt = f"Seat {safe(seat)}, your turn. Press Enter when only you can see. "
        line = await self._terminal.ask(prompt)
        self._shown = seat
        return line.strip() not in ("quit", ":quit")

    async def _line_or_news(self, prompt: str, revision: int) -> str | None:
        """What was typed; None when the match moved on before that."""
        line: str | None = None
        failure: Exception | None = None

        async def listen() -> None:
            nonlocal line, failure
            try:
                line = await self._terminal.ask(prompt)
            except OperatorError as error:
                failure = error
            race.cancel_scope.cancel()

        async def watch() -> None:
            nonlocal failure
            try:
                await self._table.moved(revision)
            except OperatorError as error:
                failure = error
            race.cancel_scope.cancel()

        async with anyio.create_task_group() as race:
            race.start_soon(listen)
            race.start_soon(watch)
        if line is None and failure is not None:
            raise failure
        return line

    def _obey(self, command: Command, view: View) -> None:
        if command.name == "view":
            self._show(view)
        elif command.name == "log":
            steps = self._table.history(view.seat)
            for revision, step in steps:
                self._terminal.say(f"{revision:>4}  {step_text(step)}")
            if not steps:
                self._terminal.say("nothing has happened yet", "dim")
        else:
            self._help()

    def _help(self) -> None:
        say = self._terminal.say
        say("a number          one of the choices")
        for name, event in self._game.events.items():
            say(f"{safe(name)} {payload_text(event)}".rstrip())
        for name, line in COMMANDS.items():
            say(f"{name:<16}  {line}")

    def _show(self, view: View) -> None:
        say = self._terminal.say
        who = ", ".join(f"seat {safe(seat)}" for seat in view.active_players)
        head = f"turn {view.turn}, {safe(view.state)}: {who or 'nobody'} to act"
        if view.deadline_ms is not None:
            left_s = math.ceil((view.deadline_ms - time.time() * 1000) / 1000)
            head += f", {max(0, left_s)} s left"
        say()
        say(head, "bold")
        self._draw(view)
        choices = view.legal or ()
        for number, (event, payload) in enumerate(choices[:CHOICES_SHOWN_MAX], start=1):
            say(f"{number:>3}  {action_text(event, payload)}")
        if len(choices) > CHOICES_SHOWN_MAX:
            say(f"     and {len(choices) - CHOICES_SHOWN_MAX} more", "dim")

    def _draw(self, view: View) -> None:
        lines: list[str] = []
        if self._render is not None:
            try:
                lines = safe(str(self._render(view.view)), lines=True).splitlines()
            except Exception as error:
                # the author's function: the match goes on without it
                said = f"render failed with {type(error).__name__}: {error}"
                self._terminal.say(safe(said), "warn")
        for line in lines or pretty(view.view):
            self._terminal.say(f"  {line}")

    def _tell_news(self, seat: str) -> None:
        """What happened since this seat looked, but for its own actions."""
        for revision, step in self._table.history(seat):
            if revision > self._told[seat]:
                self._told[seat] = revision
                text = step_text(step, but_of=seat)
                if text:
                    self._terminal.say(text)

    async def _close(self, view: View) -> None:
        self._tell_news(view.seat)
        if len(self._people) > 1:
            view = await self._table.look(SPECTATOR)
        self._terminal.say()
        self._terminal.say(f"The match is over, in turn {view.turn}.", "bold")
        self._draw(view)
        self._terminal.say(f"Result: {bare(view.result)}", "bold")
        self._terminal.say(safe(self._table.farewell(), lines=True), "dim")
