"""Randomness as part of the state: a seeded generator that a match carries.

Algorithm: FNV-1a (32 bit, over UTF-16 code units) turns the seed into the first state;
mulberry32 (Tommy Ettinger, public domain) steps it. Both are the reference's, bit for
bit. `draws` counts the floats taken. A method that raises has taken nothing.

A generator belongs to one call of a resolver; what it drew is kept only if that
resolver is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from .errors import RngError
from .limits import SAFE_INT_MAX

__all__ = ["RNG_STATE_MAX", "Rng", "RngState", "initial_rng", "rng_from"]

T = TypeVar("T")

_MASK = 0xFFFF_FFFF
RNG_STATE_MAX = _MASK
_FNV_OFFSET = 2_166_136_261
_FNV_PRIME = 16_777_619


class RngState(msgspec.Struct, frozen=True, gc=False):
    """Where a generator stands. `state` is an unsigned 32-bit integer."""

    draws: int
    seed: str
    state: int


class Rng(msgspec.Struct):
    """The generator a resolver sees as `ctx.rng`."""

    _state: int
    _draws: int
    _seed: str

    def next(self) -> float:
        """A float in [0, 1)."""
        state = self._state = (self._state + 0x6D2B_79F5) & _MASK
        self._draws += 1
        mixed = ((state ^ (state >> 15)) * (state | 1)) & _MASK
        mixed ^= (mixed + (((mixed ^ (mixed >> 7)) * (mixed | 61)) & _MASK)) & _MASK
        return (mixed ^ (mixed >> 14)) / 4_294_967_296

    def int_(self, below: int) -> int:
        """An integer in [0, below).

        Raises:
            RngError: `below` is not a positive integer.
        """
        below = _positive(below, "the bound of int_")
        return int(self.next() * below)

    def bool_(self, probability: float = 0.5) -> bool:
        """True with the given probability.

        Raises:
            RngError: the probability is not within [0, 1].
        """
        if not _is_number(probability) or not 0 <= probability <= 1:
            raise RngError(f"a probability lies within [0, 1], not {probability!r}")
        return self.next() < probability

    def pick(self, values: Sequence[T]) -> T:
        """One of the values.

        Raises:
            RngError: there are none, or they have no order: a set, a dict.
        """
        if not values:
            raise RngError("pick needs at least one value")
        if not isinstance(values, (list, tuple)) and not isinstance(values, Sequence):
            raise RngError(f"pick needs a list, not a {type(values).__name__}")
        return values[int(self.next() * len(values))]

    def dice(self, count: int, sides: int) -> int:
        """The sum of `count` dice.

        Raises:
            RngError: `count` or `sides` is not a positive integer.
        """
        count = _positive(count, "the number of dice")
        sides = _positive(sides, "the number of sides")
        return sum(int(self.next() * sides) + 1 for _ in range(count))

    def d4(self) -> int:
        """One die with 4 sides."""
        return int(self.next() * 4) + 1

    def d6(self) -> int:
        """One die with 6 sides."""
        return int(self.next() * 6) + 1

    def d8(self) -> int:
        """One die with 8 sides."""
        return int(self.next() * 8) + 1

    def d10(self) -> int:
        """One die with 10 sides."""
        return int(self.next() * 10) + 1

    def d12(self) -> int:
        """One die with 12 sides."""
        return int(self.next() * 12) + 1

    def d20(self) -> int:
        """One die with 20 sides."""
        return int(self.next() * 20) + 1

    def d100(self) -> int:
        """One die with 100 sides."""
        return int(self.next() * 100) + 1

    def advantage(self) -> int:
        """The better of two d20."""
        return max(self.d20(), self.d20())

    def disadvantage(self) -> int:
        """The worse of two d20."""
        return min(self.d20(), self.d20())

    def has_drawn_since(self, state: RngState) -> bool:
        """Whether it took a float after it stood there."""
        return self._draws != state.draws

    def snapshot(self) -> RngState:
        """Where the generator stands now."""
        return RngState(self._draws, self._seed, self._state)


def initial_rng(seed: str) -> RngState:
    """The state of a generator that has drawn nothing."""
    return RngState(0, seed, _fnv1a(seed))


def rng_from(state: RngState) -> Rng:
    """A generator that goes on from a state."""
    return Rng(state.state, state.draws, state.seed)


def _fnv1a(text: str) -> int:
    digest = _FNV_OFFSET
    if text.isascii():
        for unit in text.encode():
            digest = ((digest ^ unit) * _FNV_PRIME) & _MASK
        return digest
    units = text.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        digest = ((digest ^ (low | high << 8)) * _FNV_PRIME) & _MASK
    return digest


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _positive(value: int, what: str) -> int:
    """A positive integer (2.0 is 2).

    Raises:
        RngError: it is not one, or is too large to be exact.
    """
    whole = _is_number(value) and 1 <= value <= SAFE_INT_MAX and value == value // 1
    if not whole:
        raise RngError(f"{what} is a positive integer, not {value!r}")
    return int(value)
