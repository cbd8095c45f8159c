"""What a process holds, counted: the elements of every container that its parts have.

Nothing here names the parts. Whatever grows with the length of a life is found, in
places too that nobody had thought of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .process import Process

__all__ = ["containers"]

LOOKED_AT = 64
"""Elements of one container that are looked into."""

FOREIGN = ("hotseat.engine.", "hotseat.runtime.testing.")
"""What is not the process's own: values, and the model of its disk."""


def containers(process: Process) -> dict[str, int]:
    """By class and attribute: how many elements the largest such container has."""
    found: dict[str, int] = {}
    seen: set[int] = set()
    rest: list[object] = [process.core, process.runner, process.host]
    while rest:
        thing = rest.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        for name, value in _attributes(thing):
            if isinstance(value, _CONTAINERS):
                place = f"{type(thing).__name__}.{name}"
                found[place] = max(found.get(place, 0), len(value))
            rest.extend(_own(value))
    return found


_CONTAINERS = (dict, list, set, deque, AbstractSet)


def _attributes(thing: object) -> Iterator[tuple[str, object]]:
    """Of its instance, wherever they are kept."""
    yield from getattr(thing, "__dict__", {}).items()
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{kind.__name__}{name}" if name.startswith("__") else name
            if hasattr(thing, mangled):
                yield name, getattr(thing, mangled)


def _own(value: object) -> Iterator[object]:
    """The parts of a process that a value is, or holds."""
    if isinstance(value, Mapping):
        for element in islice(value.values(), LOOKED_AT):
            yield from _own(element)
    elif isinstance(value, list | tuple | deque | set | frozenset):
        for element in islice(value, LOOKED_AT):
            yield from _own(element)
    elif hasattr(value, "__self__"):
        yield from _own(value.__self__)
    else:
        module = type(value).__module__
        own = module.startswith("hotseat.") and not module.startswith(FOREIGN)
        if own and not isinstance(value, msgspec.Struct | type):
            yield value
