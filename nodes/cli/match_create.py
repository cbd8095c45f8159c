"""`hotseat match create`: matches begin as an operator wants them."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import PLAIN, Order

__all__ = ["create"]


Version = Annotated[
    str, Parameter(help="Of the game; else the newest.", show_default=False)
]
Seats = Annotated[
    str,
    Parameter(
        help="Who may sit there: 0,1,2. Else as few seats as the game allows.",
        show_default=False,
    ),
]
Config = Annotated[
    str | None, Parameter(help="The match's config, as JSON.", show_default=False)
]
Data = Annotated[
    str | None, Parameter(help="The match's data, as JSON.", show_default=False)
]
Key = Annotated[
    str,
    Parameter(
        help="The same key is the same match, however often it is created.",
        show_default=False,
    ),
]
Count = Annotated[int, Parameter(help="How many.", validator=Number(gte=1, lte=1_000))]
Tokens = Annotated[
    bool,
    Parameter(
        help="Take the seats, and print the tokens with which players resume them.",
        negative=(),
    ),
]


def create(
    game: Annotated[str, Parameter(name="GAME", help="The name of a game.")],
    /,
    *,
    version: Version = "",
    seats: Seats = "",
    config: Config = None,
    data: Data = None,
    key: Key = "",
    count: Count = 1,
    tokens: Tokens = False,
    order: Order = PLAIN,
) -> int:
    """Create matches; print their ids, one in a line.

    Exit status 0: all are there. 1: refused; some may be there: the same --key finds
    them. 3: no node answers.
    """
    args = {
        "version": version,
        "seats": [name.strip() for name in seats.split(",")] if seats else [],
        "config": _json(config, "--config"),
        "data": _json(data, "--data"),
        "key": key,
        "count": count,
        "tokens": tokens,
    }
    outcome = order.perform(
        "match.create", game, args, label="creating", timeout_s=None
    )
    from .shown import print_json

    if order.json:
        print_json(outcome)
        return ExitCode.OK
    for match in outcome.outcome["matches"]:
        print(match)
        for seat, token in outcome.outcome.get("tokens", {}).get(match, {}).items():
            print(f"  {seat} {token}")
    return ExitCode.OK


def _json(text: str | None, flag: str) -> Any:
    """
    Raises:
        OperatorError: usage: it is no JSON.
    """
    try:
        return None if text is None else json_text.loads(text)
    except ValueError as error:
        raise OperatorError(
            "usage",
            f"{flag}: that is no JSON: {error}",
            hint=f"""such as {flag} '{{"rounds": 3}}'""",
            exit_code=ExitCode.USAGE,
        ) from error
