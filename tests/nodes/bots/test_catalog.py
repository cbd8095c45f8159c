"""Bots are named by their authors, and found, or it is said why not."""

from __future__ import annotations

import pytest

from hotseat.nodes.bots.catalog import load_bots, names_of
from hotseat.nodes.operator_error import OperatorError

from .own_bots import Last, where

OWN = "tests.nodes.bots.own_bots"


def test_bots_are_found_beside_ours() -> None:
    """A class is made, an object is taken as it is; a name of ours may be replaced."""
    specs = [f"last={OWN}:Last", f"random={OWN}:where"]
    found = load_bots(specs)
    assert sorted(found) == ["last", "mcts", "random"]
    assert isinstance(found["last"], Last)
    assert found["random"] is where
    assert names_of(specs) == ("last", "random")


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("no-bot", "invalid_bot"),
        (f"Big={OWN}:Last", "invalid_bot"),
        (f"one={OWN}:process", "invalid_bot"),
        (f"one={OWN}:Nobody", "unknown_bot"),
        ("one=no_such_module:Bot", "bot_import_failed"),
    ],
)
def test_what_is_no_bot_says_so(spec: str, code: str) -> None:
    """With a stable code."""
    with pytest.raises(OperatorError) as refused:
        load_bots([spec])
    assert refused.value.code == code
