"""What is wrong with a configuration: every fault at once.

A `Fault` says where the value came from (a key of a file, a variable of the
environment, a flag), what was expected there and what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ConfigError", "Fault"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    `code` is one of unreadable_file, unknown_key, missing_key, invalid_value.
    `where` names the source: "node.loop in /srv/a/cluster.toml",
    "HOTSEAT_NODE_LOOP", "--loop". `got` is empty where nothing was given.
    `sentence`, where there is one, says it all instead.
    """

    code: str
    where: str
    expected: str
    got: str = ""
    hint: str = ""
    sentence: str = ""

    def __str__(self) -> str:
        if self.sentence:
            return f"{self.where}: {self.sentence}"
        got = f", got {self.got}" if self.got else ""
        return f"{self.where}: expected {self.expected}{got}"


class ConfigError(Exception):
    """The configuration has faults. `faults` holds them all, in a stable order."""

    code = "invalid_config"

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))
