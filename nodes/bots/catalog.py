"""Which bots there are, and for which games."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from ...engine.game import Game
from ...engine.imagine import can_imagine
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .bot import Bot
from .mcts import Mcts
from .random_bot import RandomBot

__all__ = ["BUILT_IN", "bots_of", "load_bots", "names_of"]

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "random": "plays any of the legal actions",
        "mcts": "looks ahead (Monte Carlo tree search)",
    }
)
"""The ids of our own, and what each does."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


def bots_of(game: Game) -> tuple[str, ...]:
    """The ids of our own bots that can play a game, the strongest first."""
    if game.legal_actions is None:
        return ()
    return ("mcts", "random") if can_imagine(game) else ("random",)


def names_of(specs: Iterable[str]) -> tuple[str, ...]:
    """The ids of the bots that `specs` name; see `load_bots`."""
    return tuple(spec.partition("=")[0] for spec in specs)


def load_bots(specs: Iterable[str]) -> dict[str, Bot]:
    """Our own bots, and those that `specs` name, as NAME=module:attribute, by id.

    The attribute is a bot, or a class that is made without arguments. The current
    folder is searched first, as by `python -m`.

    Raises:
        OperatorError: invalid_bot, unknown_bot, bot_import_failed.
    """
    bots: dict[str, Bot] = {"random": RandomBot(), "mcts": Mcts()}
    for spec in specs:
        name, equals, target = spec.partition("=")
        module, colon, attribute = target.partition(":")
        if not (equals and colon and module and attribute and NAME.fullmatch(name)):
            raise _wrong(
                "invalid_bot",
                f"{spec!r} names no bot",
                "NAME=module:attribute, as greedy=my_bots:Greedy; a name is made of "
                "a-z, 0-9 and -",
            )
        bots[name] = _load(spec, module, attribute)
    return bots


def _load(spec: str, module: str, attribute: str) -> Bot:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        bot = found() if isinstance(found, type) else found
    except AttributeError as error:
        raise _wrong("unknown_bot", f"{spec}: {error}") from error
    except (Exception, SystemExit) as error:
        said = f"{spec}: importing raised {type(error).__name__}: {error}"
        raise _wrong("bot_import_failed", said) from error
    if not callable(getattr(bot, "decide", None)):
        raise _wrong(
            "invalid_bot",
            f"{spec} has no method decide",
            "def decide(self, view, legal_actions, rng): return event, payload",
        )
    return bot  # type: ignore[return-value]  # what it answers is checked at each time


def _wrong(code: str, message: str, hint: str = "see docs/bots.md") -> OperatorError:
    return OperatorError(code, message, hint=hint, exit_code=ExitCode.USAGE)
