"""Matches that the tests of replays look at."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hotseat.engine import Session, create_session

from ..samples import MATCH, everything, play

__all__ = ["SCRIPTS", "long_match", "played"]

SCRIPTS: st.SearchStrategy[list[Any]] = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "put": st.tuples(st.sampled_from("ab"), st.integers(0, 3)),
            "roll": st.just(True),
            "turn": st.sampled_from(["increment", "preserve"]),
            "echo": st.integers(0, 2),
        },
    )
    | st.sampled_from(["timeout", "rest", "wake"]),
    max_size=10,
)


def played(script: list[Any], **options: Any) -> Session:
    """A match of `everything` that went through a script."""
    session = create_session(everything(), MATCH, **options)
    play(session, script)
    return session


def long_match(length: int = 700) -> Session:
    """A match with draws, batches, turns and timeouts: more than one stretch."""
    session = create_session(everything(), MATCH)
    now = 0
    for number in range(length):
        now += 1
        if number % 50 == 49:
            now += 1_000
            assert session.fire_timeout(now) is not None
            continue
        asked = {
            "put": ["abc"[number % 3], number],
            "roll": number % 4 == 0,
            "echo": 2 if number % 7 == 0 else 0,
            "turn": "increment" if number % 5 == 0 else "preserve",
        }
        session.apply("1", "change", asked, now=now)
    return session
