"""`hotseat shard move`: another node owns a shard."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from .operate import PLAIN, Order, Timeout, Yes, confirm

__all__ = ["move"]


def move(
    number: Annotated[int, Parameter(name="N", validator=Number(gte=0))],
    /,
    *,
    to: Annotated[str, Parameter(help="The node that shall own it.")],
    timeout: Timeout = 20.0,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let another node own a shard. If it holds no copy yet, it is given one first.

    The shard's matches pause for some milliseconds. If it is not moved in time, it
    stays where it is, and this says why.

    Exit status 0: moved. 1: refused, or not moved. 3: no node answers.
    """
    confirm(f"Move shard {number} to {to}?", yes)
    outcome = order.perform(
        "shard.move",
        str(number),
        {"to": to, "timeout_s": timeout},
        label=f"moving shard {number}",
        timeout_s=timeout + 20.0,
    )
    done = outcome.outcome
    pause = done.get("pause_ms")
    paused = "" if pause is None else f", which paused for {pause} ms"
    text = (
        f"shard {number} went from {done['from']} to {to} with {done['matches']}"
        f" matches{paused}; {done['took_ms']} ms in all"
    )
    return order.tell(outcome, text)
