"""The tally of many seeds: a file that a later run goes on with.

It holds which seeds were run on which code, what failed, and how often each kind of
fault has struck: a fault that never strikes proves nothing.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any

from .world import Outcome

__all__ = ["Tally", "code_fingerprint"]

ROOT = Path(__file__).resolve().parents[2]

CODE = ("engine", "runtime", "nodes/supervisor/supervisor.py", "tests/simulator")
"""What a run depends on."""


def code_fingerprint() -> str:
    """A digest of all code that a run depends on."""
    digest = blake2b(digest_size=8)
    for name in CODE:
        path = ROOT / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.name.startswith("test_") or file.name == "regressions.py":
                continue
            digest.update(file.relative_to(ROOT).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


class Tally:
    """Of one file. What other code has done before is kept apart, under `earlier`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fingerprint = code_fingerprint()
        self._seeds: set[int] = set()
        self._failures: list[dict[str, Any]] = []
        self._counts: Counter[str] = Counter()
        self._earlier: list[dict[str, Any]] = []
        if path.exists():
            self._load(json.loads(path.read_text()))

    @property
    def failures(self) -> int:
        return len(self._failures)

    def __contains__(self, seed: int) -> bool:
        return seed in self._seeds

    def __len__(self) -> int:
        return len(self._seeds)

    def add(self, outcome: Outcome) -> None:
        """One more seed."""
        self._seeds.add(outcome.seed)
        self._counts.update(outcome.counts)
        self._counts["acknowledgements"] += outcome.acks
        self._counts["takeovers"] += outcome.takeovers
        self._counts["steps"] += outcome.steps
        if outcome.violation:
            failure = {"seed": outcome.seed, "violation": outcome.violation}
            self._failures.append(failure)

    def save(self) -> None:
        """Write the file, whole or not at all."""
        text = json.dumps(self._as_json(), indent=1, sort_keys=True)
        aside = self._path.with_suffix(".new")
        aside.write_text(text + "\n")
        os.replace(aside, self._path)

    def _load(self, held: dict[str, Any]) -> None:
        self._earlier = held.get("earlier", [])
        if held["fingerprint"] == self._fingerprint:
            for first, last in held["seeds"]:
                self._seeds.update(range(first, last + 1))
            self._failures = held["failures"]
            self._counts = Counter(held["counts"])
        elif held["seeds"]:
            summary = {
                name: held[name] for name in ("fingerprint", "seeds", "failures")
            }
            self._earlier = [*self._earlier, summary]

    def _as_json(self) -> dict[str, Any]:
        return {
            "fingerprint": self._fingerprint,
            "done": len(self._seeds),
            "seeds": _ranges(self._seeds),
            "failures": self._failures,
            "counts": dict(self._counts),
            "earlier": self._earlier,
        }


def _ranges(seeds: set[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for seed in sorted(seeds):
        if ranges and ranges[-1][1] == seed - 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ranges
