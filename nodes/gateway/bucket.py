"""A token bucket: so many at once, so many a second in the long run. Pure."""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["Bucket", "Buckets"]


class Bucket:
    """`take` says whether one more is allowed now. Seconds, on any one clock."""

    __slots__ = ("_burst", "_left", "_per_s", "_then_s")

    def __init__(self, per_s: float, burst: float, now_s: float) -> None:
        self._per_s, self._burst = per_s, burst
        self._left, self._then_s = burst, now_s

    def take(self, now_s: float) -> bool:
        """Take one; False: there is none, and none was taken."""
        self._fill(now_s)
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def wait_s(self, now_s: float) -> float:
        """How long until there is one."""
        self._fill(now_s)
        return max(0.0, (1 - self._left) / self._per_s)

    def _fill(self, now_s: float) -> None:
        passed_s = max(0.0, now_s - self._then_s)
        self._left = min(self._burst, self._left + passed_s * self._per_s)
        self._then_s = now_s


class Buckets:
    """A bucket for each of the names that were seen lately, at most `names_max`."""

    def __init__(self, per_s: float, burst: float, names_max: int) -> None:
        self._per_s, self._burst, self._names_max = per_s, burst, names_max
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, name: str, now_s: float) -> bool:
        """Take one of that name's."""
        return self._of(name, now_s).take(now_s)

    def _of(self, name: str, now_s: float) -> Bucket:
        known = self._buckets.get(name)
        if known is None:
            while len(self._buckets) >= self._names_max:
                self._buckets.popitem(last=False)
            known = self._buckets[name] = Bucket(self._per_s, self._burst, now_s)
        self._buckets.move_to_end(name)
        return known
