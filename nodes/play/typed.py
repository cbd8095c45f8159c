"""Reads what a person typed at the prompt. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...engine.suggestion import did_you_mean
from .show import safe

__all__ = ["COMMANDS", "Act", "Command", "Unclear", "read_typed"]

COMMANDS = {
    "help": "show this",
    "view": "show the view and the choices again",
    "log": "show what happened so far, as far as this seat may know",
    "wait": "let the others act first",
    "quit": "leave the match",
}


@dataclass(frozen=True, slots=True)
class Act:
    """An action to take."""

    event: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Command:
    """One of `COMMANDS`."""

    name: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """Nothing that can be done; `message` says what to type instead."""

    message: str


def read_typed(
    line: str, choices: Sequence[tuple[str, Any]], events: Iterable[str]
) -> Act | Command | Unclear:
    """A number is a choice; then come events, `take 3`; then commands.

    An event hides a command of its name; `:log` is the command always.
    """
    line = line.strip()
    known = list(events)
    word, _, rest = line.partition(" ")
    if not line:
        return Unclear("type a number, an event or help")
    if word.isascii() and word.isdigit() and word not in known:
        return _choice(word, rest, choices)
    if word in known:
        return _act(word, rest.strip())
    name = word.removeprefix(":")
    if name in COMMANDS:
        return Unclear(f"{name} stands alone") if rest else Command(name)
    close = did_you_mean(word, [*known, *COMMANDS]) or "help shows what there is"
    return Unclear(f'there is no event or command "{safe(word)}". {close}')


def _choice(word: str, rest: str, choices: Sequence[tuple[str, Any]]) -> Act | Unclear:
    number = int(word[:9])
    if rest or not 1 <= number <= len(choices):
        there = f"1 to {len(choices)}" if choices else "no choices here: type an event"
        return Unclear(f"{safe(f'{word} {rest}'.strip())} is no choice; {there}")
    return Act(*choices[number - 1])


def _act(event: str, text: str) -> Act | Unclear:
    if not text:
        return Act(event, None)
    try:
        return Act(event, json.loads(text))
    except (ValueError, RecursionError) as error:
        return Unclear(
            f"the payload after {safe(event)} is not JSON ({error}); "
            f'write {safe(event)} 3, {safe(event)} "text" or {safe(event)} {{"key": 1}}'
        )
