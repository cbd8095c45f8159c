"""Mutants: the product with one rule broken, each by another body of one method.

A checker must catch every one of them: a mutant that survives means that the faults
are too tame. `mutants.json` keeps the first seed that caught each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["MUTANTS", "Mutant", "mutated"]


@dataclass(frozen=True)
class Mutant:
    """`rule` says what is broken; `body` makes the broken method of the sound one."""

    name: str
    rule: str
    owner: type
    method: str
    body: Callable[[Any], Any]
    scenario: str = ""


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """The rule is broken inside."""
    sound = mutant.owner.__dict__[mutant.method]
    setattr(mutant.owner, mutant.method, mutant.body(sound))
    try:
        yield
    finally:
        setattr(mutant.owner, mutant.method, sound)


MUTANTS: dict[str, Mutant] = {}
