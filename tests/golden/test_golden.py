"""Every shipped game still plays its golden match, line by line."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from .playthrough import FOLDER, GAMES, playthrough

REWRITE = "if that is meant: python -m tests.golden, and read the diff"


@pytest.mark.parametrize("name", GAMES)
def test_the_golden_match_is_played_as_it_was(name: str) -> None:
    """Who was asked, where it led, what each saw, and every digest."""
    path = FOLDER / f"{name}.txt"
    assert path.exists(), f"{name} has no transcript; python -m tests.golden {name}"
    wanted = path.read_text(encoding="utf-8").splitlines()
    played = playthrough(name).splitlines()
    for number, (was, now) in enumerate(zip_longest(wanted, played), start=1):
        assert was == now, f"line {number} of {path.name} differs; {REWRITE}"


def test_every_transcript_is_of_a_game() -> None:
    """A game that is gone takes its transcript along."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(GAMES)
