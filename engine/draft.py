"""Drafts: G as if it could be changed, for resolvers that would rather write than copy.

`ctx.draft()` gives a draft of G. Change it as a plain value, and return it: as the `G`
of a result, or by itself, which is short for a result of `G` alone::

    def place(ctx):
        G = ctx.draft()
        G["board"][ctx.event.payload] = ctx.player_id
        G["moves"] += 1
        return {"G": G, "turn": "increment"}

The outcome is the same as that of a result built from `ctx.G`: the same frozen value,
with everything shared that was not changed, and the same digest. A step costs the
containers that were read or changed, not |G|.

- `ctx.draft()` gives the same draft whenever it is asked within one call of a resolver.
  A draft that was changed must be returned, else the call fails: a change that nobody
  sees is a mistake. To try something out, take `draft(ctx.G)`.
- Parts of a draft are dicts and lists, and can do all that these can. A part may be
  moved, or stand in two places; they are the same object within the call, and equal
  values after it. A part inside itself is refused, as is every value that is not JSON.
- Reading through a draft copies what is read; so read from `ctx.G`, write to the draft.
- Freezing a draft finishes it, and so does the end of its step: its parts then raise
  `DraftError`, whatever is asked of them.
- Only `ctx.draft()` is watched. Copies (`copy()`, `{**part}`) are plain values that
  share the parts inside them, as those of plain values do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .draft_dict import open_dict
from .draft_list import open_list
from .drafting import Drafted, Family
from .errors import DraftError, InvalidJsonValueError
from .frozen import FDict, FList, freeze
from .jsonvalue import Json

__all__ = ["answer_of", "close", "draft", "is_changed", "require_returned"]


def draft(G: Json) -> Json:
    """A draft of a dict or a list; what is not frozen yet is frozen first.

    Raises:
        DraftError: it is neither a dict nor a list.
        InvalidJsonValueError: it is not JSON.
    """
    frozen = freeze(G, label="G")
    family: Family = []
    if isinstance(frozen, FDict):
        return open_dict(frozen, family)
    if isinstance(frozen, FList):
        return open_list(frozen, family)
    raise DraftError(f"a draft is of a dict or a list, not of {type(G).__name__}")


def close(part: Any) -> None:
    """Finish all parts of a draft for good; their values cannot be returned again."""
    family: Family = part._family
    for each in family:
        each._close()
    family.clear()  # a part and its family hold each other; now nothing does


def answer_of(part: Drafted) -> dict[str, Json]:
    """What a resolver means that returns a draft.

    Raises:
        DraftError: it is only a part of one.
    """
    family = part._family
    if family and family[0] is not part:
        raise DraftError(
            'a part of a draft was returned; return the draft, or {"G": part}'
        )
    return {"G": part}


def require_returned(part: Any, origin: Json, answer: object) -> None:
    """Require that a resolver's answer holds the G that it drafted.

    Raises:
        DraftError: the draft was changed, and the answer has no G.
    """
    if isinstance(answer, Mapping) and answer.get("G") is not None:
        return
    if is_changed(part, origin):
        raise DraftError(
            'ctx.draft() was changed but not returned; return {"G": draft}, '
            "or try things out on draft(ctx.G)"
        )


def is_changed(part: Any, origin: Json) -> bool:
    """Whether a draft is another value than its origin, or none of JSON at all."""
    try:
        frozen = freeze(part, label="G")
    except InvalidJsonValueError:
        return True
    return frozen is not origin
