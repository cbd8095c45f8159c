"""What `hotseat game check` prints, through the command line's own entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.cli.main import run

GAMES = """
from hotseat.engine import *

def rules(**parts):
    return define_game(**{
        "name": "bids", "version": "2", "max_players": 3, "min_players": 2,
        "events": ["bid"], "initial": "bidding", "setup": lambda ctx: {},
        "states": {
            "round": state(),
            "bidding": state(active_players=["0"], parent="round"),
            "say \\"over\\"": state(active_players=[]),
        },
        "transitions": [
            transition("bid", "bidding", "bidding", lambda ctx: {}, label="higher"),
            timeout("round", "say \\"over\\"", turn="increment"),
        ],
        "views": views(public=lambda ctx: {}),
        **parts,
    })

sound = rules()
warned = rules(states={
    "round": state(), "bidding": state(active_players=["0"], parent="round"),
    "say \\"over\\"": state(active_players=["0"]),
})
hidden = rules(views=None)
open_table = rules(views=None, open_information=True)
broken = rules(initial="bidin", transitions=[transition("bet", "round", "moon")])
cyclic = rules(initial="a", states={"a": state(parent="b"), "b": state(parent="a")})
needy = rules(setup=lambda ctx: {"board": ctx.match["data"]["board"]})
"""

TEXT = """\
bids version 2, players 2-3
states:
  round
    bidding (initial)
  say "over"
transitions:
  bidding -> bidding  on bid  higher
  round -> say "over"  on timeout, turn increment
hostable: yes
bids version 2: 0 errors, 0 warnings
"""

DOT = """\
digraph "bids" {
  compound=true; rankdir=LR; node [shape=box, style=rounded];
  "" [shape=point];
  subgraph "cluster round" {
    label="round";
    "bidding";
  }
  "say \\"over\\"";
  "" -> "bidding";
  "bidding" -> "bidding" [label="bid"];
  "bidding" -> "say \\"over\\"" \
[label="timeout, turn increment", ltail="cluster round"];
}
"""


@pytest.fixture
def checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Check one of the games: exit status, stdout, stderr."""
    name = f"games_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(GAMES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def check(game: str, *options: str) -> tuple[int, str, str]:
        status = run(["game", "check", f"{name}:{game}", *options])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return check


def test_sound_game_as_text(checked: Any) -> None:
    """The graph as a tree and a list, whether it can be hosted, and the counts."""
    assert checked("sound") == (0, TEXT, "")


def test_sound_game_for_graphviz(checked: Any) -> None:
    """A compound state is a box around its leaves; names are quoted."""
    assert checked("sound", "--dot") == (0, DOT, "")


def test_sound_game_as_json(checked: Any) -> None:
    """One object with every key of the schema."""
    status, out, _ = checked("sound", "--json")
    assert status == 0
    assert json.loads(out) == {
        "name": "bids",
        "version": "2",
        "ok": True,
        "hostable": True,
        "errors": 0,
        "warnings": 0,
        "unprobed": None,
        "diagnostics": [],
        "graph": {
            "initial": "bidding",
            "nodes": [
                {
                    "name": "round",
                    "kind": "compound",
                    "parent": None,
                    "path": ["round"],
                },
                {
                    "name": "bidding",
                    "kind": "leaf",
                    "parent": "round",
                    "path": ["round", "bidding"],
                },
                {
                    "name": 'say "over"',
                    "kind": "leaf",
                    "parent": None,
                    "path": ['say "over"'],
                },
            ],
            "edges": [
                {
                    "event": "bid",
                    "source": "bidding",
                    "target": "bidding",
                    "resolver": "higher",
                    "turn": "preserve",
                },
                {
                    "event": None,
                    "source": "round",
                    "target": 'say "over"',
                    "resolver": None,
                    "turn": "increment",
                },
            ],
        },
    }


def test_warnings_do_not_fail(checked: Any) -> None:
    """A warning is printed with its hint, and the exit status is 0."""
    status, out, _ = checked("warned")
    assert status == 0
    assert "warning[suspicious_terminal_leaf]: " in out
    assert "  hint: " in out
    assert out.endswith("hostable: yes\nbids version 2: 0 errors, 1 warning\n")


def test_broken_game_names_each_place(checked: Any) -> None:
    """Every error has its place and a hint; the exit status is 1."""
    status, out, _ = checked("broken")
    assert status == 1
    assert 'error[initial_missing]: Initial state "bidin" is not declared.' in out
    assert "  at: round -> moon  on bet\n" in out
    assert out.count("error[") == out.count("  hint: ") == 3
    assert "hostable: no\n" in out


def test_what_is_found_goes_beside_the_drawing(checked: Any) -> None:
    """With --dot the findings are on stderr, and the drawing stays whole."""
    status, out, err = checked("broken", "--dot")
    assert status == 1
    assert err.count("error[") == 3
    assert out.startswith("digraph")
    assert "moon" not in out


def test_game_without_views_is_not_hostable(checked: Any) -> None:
    """It is an error with the code no_views, unless its information is open."""
    status, out, _ = checked("hidden", "--json")
    report = json.loads(out)
    assert (status, report["hostable"], report["errors"]) == (1, False, 1)
    assert report["diagnostics"][0]["code"] == "no_views"
    assert checked("open_table")[0] == 0


def test_states_that_are_no_tree_have_no_graph(checked: Any) -> None:
    """The findings are there all the same, in every form."""
    status, out, _ = checked("cyclic", "--json")
    assert status == 1
    report = json.loads(out)
    assert report["graph"] is None
    assert report["diagnostics"][0]["code"] == "invalid_hierarchy"
    assert checked("cyclic")[0] == checked("cyclic", "--dot")[0] == 1


def test_match_to_derive_states_with_may_be_given(checked: Any) -> None:
    """A game that needs data is judged by a match that has it."""
    status, out, _ = checked("needy")
    assert status == 1
    assert "error[state_derivation_failed]: " in out
    match = {"players": ["0", "1"], "data": {"board": []}}
    assert checked("needy", "--match", json.dumps(match))[0] == 0
    status, _, err = checked("needy", "--match", '{"players": ["9"]}')
    assert status == 1
    assert err.startswith("error[unknown_player]: ")


@pytest.mark.parametrize(
    "options", [["--json", "--dot"], ["--match", "[1]"], ["--match", "{"]]
)
def test_wrong_options_are_status_2(checked: Any, options: list[str]) -> None:
    """Nothing is printed on stdout, and one line says what is wrong."""
    status, out, err = checked("sound", *options)
    assert (status, out) == (2, "")
    assert err.startswith("error[usage]: ")
