"""Alternatives of one decision: resolvers that share the function they ask.

A decision answers once for several transitions: it says which of them is taken, and
with what answer. Each of these transitions has an `Alternative` of the decision for its
resolver. That is a resolver like any other, and answers alone as well. Matching knows
more: it asks a decision once for each event, on one context, and all its alternatives
hear what it said. So a body with many possible outcomes runs once, draws once from the
rng, and yet every outcome is an edge of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from .context import ResolverContext

__all__ = ["Alternative", "Decided", "Decision"]

Decision: TypeAlias = "Callable[[ResolverContext], object]"
"""Gives a `Decided`; or, for all alternatives at once, no match or a rejection."""


class Decided(msgspec.Struct, frozen=True, gc=False):
    """What a decision chose: the alternative that knows `key`, and what it answers."""

    key: Hashable
    answer: object


class Alternative(msgspec.Struct, frozen=True):
    """The resolver of a transition that is taken for some keys of a decision."""

    decide: Decision
    keys: frozenset[Hashable]

    def __call__(self, ctx: ResolverContext) -> object:
        """Answer as any resolver does."""
        return self.answer(self.decide(ctx))

    def answer(self, said: object) -> object:
        """This alternative's part of what the decision said."""
        if type(said) is Decided:
            return said.answer if said.key in self.keys else None
        return said

    @property
    def __wrapped__(self) -> Decision:
        """Where to look for the code of an answer."""
        return self.decide
