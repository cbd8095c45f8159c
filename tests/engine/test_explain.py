"""Answers in words, and the page that shows them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

from hotseat.engine import (
    Session,
    create_session,
    enqueue,
    explain,
    reject,
    state,
    timeout,
    transition,
)

from .samples import MATCH, accepted, one_state, refused

PAGE = Path(__file__).parents[2] / "docs" / "explained-steps.md"


def session_of(*edges: Any, **more: Any) -> Session:
    """A match whose one event has these transitions."""
    return create_session(one_state(transitions=edges, **more), MATCH)


def test_the_page_shows_what_is_printed() -> None:
    """The first example of the page, run."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (_, program), (_, shown) = blocks[:2]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, str(PAGE), "exec"), {})
    assert printed.getvalue() == shown


def test_every_branch_and_its_answer_is_shown() -> None:
    """Who was asked, who won, and why the others did not, from the leaf upward."""
    session = session_of(
        transition("go", "play", "play", lambda ctx: None, label="silent"),
        transition("go", "play", "over", lambda ctx: reject("no", {"n": 1}), label="b"),
        transition("go", "table", "play", lambda ctx: {"turn": "increment"}, label="c"),
        states={
            "table": state(),
            "play": state(parent="table", active_players=["0"]),
            "over": state(active_players=[]),
        },
    )
    assert explain(accepted(session.apply("0", "go", {"a": 1}, now=7))) == (
        "action go by seat 0 at 7 in turn 1\n"
        '  payload: {"a": 1}\n'
        "  asked in play:\n"
        "    - silent -> play: no match\n"
        '    - b -> over: rejected, no: {"n": 1}\n'
        "  asked in table:\n"
        "    * c -> play: taken\n"
        "  turn 1 -> 2\n"
        "  stays in table/play, revision 1"
    )


def test_what_came_of_it_is_shown() -> None:
    """Draws, queued events, the move and the result, step by step."""

    def go(ctx: Any) -> object:
        ctx.rng.dice(2, 6)
        return {"enqueue": [enqueue("end", [1])], "turn": "sideways"}

    session = session_of(
        transition("go", "play", "play", go, label="go"),
        transition("end", "play", "over", lambda ctx: {"result": "done"}, label="end"),
        events=["go", "end"],
        states={"play": state(active_players=["0"]), "over": state(active_players=[])},
    )
    assert explain(accepted(session.apply("0", "go", now=7))) == (
        "action go by seat 0 at 7 in turn 1\n"
        "  asked in play:\n"
        "    * go -> play: taken\n"
        "  rng: 2 draws\n"
        "  queued: end [1]\n"
        '  turn 1, as "sideways" means nothing\n'
        "  stays in play, revision 1\n"
        "internal end at 7 in turn 1\n"
        "  payload: [1]\n"
        "  asked in play:\n"
        "    * end -> over: taken\n"
        "  play -> over, revision 2\n"
        '  result: "done"'
    )


def test_a_timeout_is_shown() -> None:
    """A deadline has no event of its own."""
    session = session_of(
        timeout("play", "play", label="late"),
        states={"play": state(active_players=["0"], deadline=5)},
    )
    batch = session.fire_timeout(9)
    assert explain(accepted(batch)).startswith(
        "timeout at 9 in turn 1\n  asked in play"
    )


def test_an_ambiguity_shows_both() -> None:
    """An action that two branches answer is refused, and both are named."""
    session = session_of(
        transition("go", "play", "play", lambda ctx: {}, label="one"),
        transition("go", "play", "play", lambda ctx: {}, label="two"),
    )
    told = explain(refused(session.apply("0", "go", now=1), "ambiguous_transition"))
    assert "- one -> play: matched" in told
    assert "- two -> play: matched" in told


def test_a_failure_shows_the_authors_line() -> None:
    """The operator sees branch, error, file and line."""

    def resolve(ctx: Any) -> object:
        raise LookupError("no such card")

    session = session_of(transition("go", "play", "play", resolve, label="draw"))
    told = explain(refused(session.apply("0", "go", now=1), "resolver_error"))
    assert "draw failed on go\n" in told
    assert "LookupError: no such card" in told
    assert f"{__file__}:" in told
    assert 'raise LookupError("no such card")' in told


def test_a_terminal_is_not_at_the_mercy_of_a_payload() -> None:
    """Characters that a terminal obeys are escaped, and long values are cut."""
    session = session_of(transition("go", "play", "play", lambda ctx: {}))
    told = explain(accepted(session.apply("0", "go", "\x9b2J\x1b[2J", now=1)))
    assert all(line.isprintable() for line in told.splitlines())
    told = explain(accepted(session.apply("0", "go", "é" * 1000, now=1)))
    assert max(map(len, told.splitlines())) < 120
