"""The views of a game in the decorator form: `@g.view.public`, `@g.view.player`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .author_function import check_function
from .errors import DefinitionError
from .game import Derivation, PlayerView, Views

__all__ = ["ViewBuilder"]

D = TypeVar("D", bound=Derivation)
P = TypeVar("P", bound=PlayerView)


class ViewBuilder:
    """The views of a game: `@g.view.public` and `@g.view.player`."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._public: Derivation | None = None
        self._player: PlayerView | None = None

    def __call__(self, function: object) -> object:
        """Raises DefinitionError: a view is one of two."""
        raise DefinitionError(
            "write @g.view.public above def public(ctx), for what all may see, or "
            "@g.view.player above def player(ctx, seat), for what one seat may"
        )

    def public(self, function: D) -> D:
        """Decorate the function that draws what a spectator may see.

        Raises:
            DefinitionError: it is not a function of the context, or a second one.
        """
        check_function(function, "@g.view.public", "ctx")
        if self._public is not None:
            raise DefinitionError("@g.view.public is there already; a game has one")
        self._public = function
        self._changed()
        return function

    def player(self, function: P) -> P:
        """Decorate the function that draws what a seat may see.

        Raises:
            DefinitionError: it is not a function of context and seat, or a second one.
        """
        check_function(function, "@g.view.player", "ctx", "seat")
        if self._player is not None:
            raise DefinitionError("@g.view.player is there already; a game has one")
        self._player = function
        self._changed()
        return function

    def build(self) -> Views | None:
        """The views as they are now; None when there are none."""
        if self._public is None and self._player is None:
            return None
        return Views(self._public, self._player)
