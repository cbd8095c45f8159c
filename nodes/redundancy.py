"""How a cluster keeps its matches: copies, how many must be in sync, on disk or not."""

from __future__ import annotations

from dataclasses import dataclass

from .exit_codes import ExitCode
from .operator_error import OperatorError

__all__ = ["DEFAULT", "Redundancy"]


@dataclass(frozen=True, slots=True)
class Redundancy:
    """The options of that name in `[cluster]`; None: not said."""

    copies: int | None = None
    min_isr: int | None = None
    durability: str | None = None

    def filled(self, nodes: int) -> Redundancy:
        """What a new cluster of so many nodes gets.

        Raises:
            OperatorError: too_few_copies: it could never take an action.
        """
        copies = self.copies or min(DEFAULT.copies or 1, nodes)
        min_isr = self.min_isr or 1
        if min_isr > min(copies, nodes):
            raise OperatorError(
                "too_few_copies",
                f"{min_isr} copies in sync cannot be had: copies are {copies}, nodes"
                f" {nodes}",
                hint="--min-in-sync must not exceed --copies, nor the number of nodes",
                exit_code=ExitCode.USAGE,
            )
        return Redundancy(copies, min_isr, self.durability or DEFAULT.durability)


DEFAULT = Redundancy(copies=2, min_isr=1, durability="disk")
"""As in `config`. A new cluster of one node has one copy."""
