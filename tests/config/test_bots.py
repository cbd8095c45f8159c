"""What a bots process may be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotseat.config import Config, ConfigError, load_config


def told(**bots: str) -> Config:
    flags = {f"--{name}": (f"bots.{name}", value) for name, value in bots.items()}
    return load_config(
        files=[],
        flags={
            "--id": ("node.id", "bots"),
            "--dir": ("node.dir", str(Path("c"))),
            "--cluster": ("cluster.id", "c"),
            **flags,
        },
    )


def test_a_bot_is_to_think_for_less_than_it_may_take() -> None:
    """Else each decision would be cut off: told so before anything is started."""
    assert told().bots.think_s < told().bots.limit_s
    assert told(think_s="2", limit_s="3").bots.think_s == 2
    with pytest.raises(ConfigError, match="think_s"):
        told(think_s="3", limit_s="3")
