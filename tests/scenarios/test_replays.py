"""Scenarios of saved matches: what an operator asks of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hotseat.engine import Game, Session, compile_game, create_session
from hotseat.engine.definition import define_game, event, state, transition, views
from hotseat.engine.replay import write_log_file
from hotseat.nodes.replay.check import check_files

MATCHES = 100
DEPLOYED_AT = 12


def race(*, bonus_at: int | None) -> Game:
    """Whoever asks goes ahead; new code adds a bonus at one step of the way."""

    def go(ctx: Any) -> Any:
        steps = ctx.G["steps"] + 1
        far = ctx.G["far"] + ctx.event.payload + (1 if steps == bonus_at else 0)
        return {"G": {"steps": steps, "far": far}}

    return define_game(
        name="race",
        version="1" if bonus_at is None else "2",
        max_players=1,
        events={"go": event(int)},
        initial="play",
        setup=lambda ctx: {"steps": 0, "far": 0},
        states={"play": state(active_players=["0"])},
        transitions=[transition("go", "play", "play", go)],
        views=views(public=lambda ctx: ctx.G),
    )


def played(game: Game, moves: int) -> Session:
    session = create_session(game, {"players": ["0"]}, seed=str(moves))
    for number in range(moves):
        session.apply("0", "go", number % 3, now=number)
    return session


def test_b74_a_shadow_replay_names_the_matches_that_would_differ(
    tmp_path: Path,
) -> None:
    """Of a hundred matches, those that got to move 12, and that very revision."""
    old = race(bonus_at=None)
    files, beyond = [], []
    for number in range(MATCHES):
        session = played(old, 5 + number % 15)
        path = tmp_path / f"{number}.hotseat"
        path.write_bytes(write_log_file(session.log, session.machine))
        files.append(path)
        if session.revision >= DEPLOYED_AT:
            beyond.append(str(path))
    new = compile_game(race(bonus_at=DEPLOYED_AT))
    checked = list(check_files(files, new, None))
    differing = [each for each in checked if each.outcome == "differs"]
    assert [each.file for each in differing] == beyond
    assert {(each.revision, each.field) for each in differing} == {
        (DEPLOYED_AT, "G.far")
    }
    assert len(checked) == MATCHES
    same = compile_game(replace(old, version="3"))
    assert {each.outcome for each in check_files(files, same, None)} == {"same"}
