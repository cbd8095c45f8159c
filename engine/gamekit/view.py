"""Computed values in a view: `view.merge({"board": ctx.G["board"]}, ctx, "winner")`."""

from __future__ import annotations

from collections.abc import Mapping

from ..jsonvalue import Json
from .context import PhaseContext

__all__ = ["computed", "merge"]


def computed(ctx: PhaseContext, *names: str) -> dict[str, Json]:
    """The computed values of these names.

    Raises:
        KeyError: there is none of a name.
    """
    values = ctx.C
    return {name: values[name] for name in names}


def merge(base: Mapping[str, Json], ctx: PhaseContext, *names: str) -> dict[str, Json]:
    """A view with the computed values of these names, which win over its own.

    Raises:
        KeyError: there is none of a name.
    """
    return {**base, **computed(ctx, *names)}
