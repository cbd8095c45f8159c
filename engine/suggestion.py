"""What an author may have meant by a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "listed"]

_NAMES_SHOWN_MAX = 12


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """`Did you mean "play"?`, when one of the known names is close."""
    if not isinstance(name, str):
        return None
    names = list(known)
    by_lower = {other.lower(): other for other in names}
    same = by_lower.get(name.lower())
    close = [same] if same else get_close_matches(name, names, n=1, cutoff=0.6)
    return f'Did you mean "{close[0]}"?' if close else None


def listed(names: Iterable[str]) -> str:
    """The names in quotes, cut when there are many; "none" when there are none."""
    all_names = list(names)
    shown = ", ".join(f'"{name}"' for name in all_names[:_NAMES_SHOWN_MAX])
    more = len(all_names) - _NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown or "none"
