"""A process that decides for bots: author code runs here and nowhere else.

    python -m hotseat.nodes.bots.worker --game SPEC ... --bot NAME=SPEC ...

It is asked over stdin and answers over what was stdout; what author code prints goes to
stderr. Its parent kills it when an answer takes too long. Should the parent be gone,
an alarm of its own does: a signal that ends the process, also in the midst of C code.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...engine.frozen import freeze
from ...engine.jsonvalue import Json
from ...engine.machine import Machine
from ...runtime.games import GameRegistry, UnknownGame
from ..games import Games
from ..operator_error import OperatorError
from .bot import Bot, BotView
from .catalog import load_bots
from .decision import HEADER_BYTES, Answer, Ask, Ready, frame, size

__all__ = ["main"]

NICE = 10
"""Nodes and gateways of the same machine go first."""

ALARM_LATE_S = 1.0
"""The parent kills first, if it is there."""

MESSAGE_CHARACTERS_MAX = 500


def main(argv: Sequence[str]) -> None:
    """Decide until stdin ends."""
    answers = os.dup(1)
    os.dup2(2, 1)
    os.set_inheritable(answers, False)
    games, bots, memory_mib = _read_arguments(argv)
    os.nice(NICE)
    if memory_mib:
        _bound_memory(memory_mib)
    try:
        found, known = Games.load(games), load_bots(bots)
    except OperatorError as error:
        _write(answers, Ready([], error.code, error.message, error.hint))
        return
    _write(answers, Ready(sorted(known)))
    while (packed := _read(0)) is not None:
        asked = msgspec.msgpack.decode(packed, type=Ask)
        signal.setitimer(signal.ITIMER_REAL, asked.limit_s + ALARM_LATE_S)
        answer = _decide(asked, found, known)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        try:
            _write(answers, answer)
        except BrokenPipeError:
            return  # nobody waits for it any more


def _decide(asked: Ask, games: GameRegistry, bots: Mapping[str, Bot]) -> Answer:
    bot = bots.get(asked.bot)
    if bot is None:
        return Answer(code="unknown_bot", message=f"no bot {asked.bot!r} here")
    try:
        view = _view(asked, games)
        choice = bot.decide(view, tuple(asked.legal), random.Random(asked.seed))
        event, payload = choice
        return Answer(_text(event), _plain(payload))
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        code = getattr(error, "code", None)
        return Answer(
            code=code if isinstance(code, str) else "bot_raised",
            message=said[:MESSAGE_CHARACTERS_MAX],
        )


def _text(event: object) -> str:
    if not isinstance(event, str):
        raise TypeError(f"an event is a text, not {event!r}")
    return event


def _plain(payload: object) -> Json:
    """Raises ValueError: it is not JSON."""
    return freeze(payload, label="the payload")


def _view(asked: Ask, games: GameRegistry) -> BotView:
    machine: Machine | None
    try:
        machine = games.get(asked.game, asked.version)
    except UnknownGame:
        machine = None
    fields = {
        name: getattr(asked, name)
        for name in BotView.__dataclass_fields__
        if name != "machine"
    }
    return BotView(**fields, machine=machine)


def _read_arguments(argv: Sequence[str]) -> tuple[list[str], list[str], int]:
    said: dict[str, list[Any]] = {"--game": [], "--bot": [], "--memory-mib": ["0"]}
    for flag, value in zip(argv[::2], argv[1::2], strict=True):
        said[flag].append(value)
    return said["--game"], said["--bot"], int(said["--memory-mib"][-1])


def _bound_memory(mib: int) -> None:
    """What wants more meets a MemoryError; the machine is none the worse for it."""
    wanted = mib * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def _read(file: int) -> bytes | None:
    """The next frame; None: there is none any more."""
    header = _read_exactly(file, HEADER_BYTES)
    return None if header is None else _read_exactly(file, size(header))


def _read_exactly(file: int, count: int) -> bytes | None:
    parts: list[bytes] = []
    while count:
        part = os.read(file, count)
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _write(file: int, message: Ready | Answer) -> None:
    try:
        packed = frame(message)
    except (ValueError, TypeError) as error:
        packed = frame(Answer(code="invalid_answer", message=str(error)))
    while packed:
        packed = packed[os.write(file, packed) :]


if __name__ == "__main__":
    main(sys.argv[1:])
