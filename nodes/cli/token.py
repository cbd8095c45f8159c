"""`hotseat token`: tokens for players and operators, and the keys that sign them.

A token is printed once, and nowhere else: it is not logged, and no error holds it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Dir, Json, folder, seconds

if TYPE_CHECKING:
    from ..tokens import Grant, KeyFile, Tokens

__all__ = ["app"]

app = App(
    name="token",
    help="Make tokens for players and operators; change keys.",
    version=None,
)

Keys = Annotated[
    Path | None,
    Parameter(
        name="--keys",
        help="The file of keys; token-keys.json in the cluster's folder if not said.",
        show_default=False,
    ),
]


@app.command
def mint(
    *,
    match: Annotated[
        str | None, Parameter(help="The match to play or watch.", show_default=False)
    ] = None,
    epoch: Annotated[
        int | None,
        Parameter(
            help="The match's epoch, as its creation told; match show tells it, too.",
            validator=Number(gte=0),
            show_default=False,
        ),
    ] = None,
    seat: Annotated[
        str | None,
        Parameter(help="Play at this seat; without it: watch.", show_default=False),
    ] = None,
    operator: Annotated[
        str | None,
        Parameter(
            help="Open matches, invite to them and inspect all, as this person.",
            show_default=False,
        ),
    ] = None,
    ttl: Annotated[str, Parameter(help="How long it is good: 90s, 5m, 2h, 7d.")] = "1d",
    keys: Keys = None,
    dir: Dir = None,
    json: Json = False,
) -> int:
    """Print a new token, signed with the newest key.

    Exit status 0: done. 2: no such token can be made.
    """
    tokens = _tokens(folder(dir), keys)
    ttl_s = seconds(ttl, "--ttl")
    if (operator is None) == (match is None):
        raise _usage("say either --match (and --seat, to play) or --operator NAME")
    if match is not None and epoch is None:
        raise _usage("say the match's --epoch, too")
    try:
        if operator is not None:
            token = tokens.operator(operator, ttl_s)
        elif seat is not None:
            token = tokens.seat(str(match), epoch or 0, seat, ttl_s)
        else:
            token = tokens.spectator(str(match), epoch or 0, ttl_s)
    except ValueError as error:
        raise _usage(str(error)) from error
    if json:
        from .shown import print_json

        print_json({"token": token, **_facts(tokens.read(token))})
    else:
        print(token)
    return ExitCode.OK


@app.command
def inspect(
    token: Annotated[
        str, Parameter(name="TOKEN", help="The token; -: read it from stdin.")
    ] = "-",
    /,
    *,
    keys: Keys = None,
    dir: Dir = None,
    json: Json = False,
) -> int:
    """Tell what a token grants, and whether it is accepted now.

    Exit status 0: it is accepted. 1: it is not; the code says why.
    """
    from .shown import cell, print_all, print_json

    text = sys.stdin.read(8192).strip() if token == "-" else token
    facts = _facts(_tokens(folder(dir), keys).read(text))
    if json:
        print_json(facts)
    else:
        print_all(*(cell(f"{name:>10}  {said}") for name, said in facts.items()))
    return ExitCode.OK


@app.command
def rotate(
    *,
    algorithm: Annotated[
        Literal["HS256", "EdDSA"],
        Parameter(help="EdDSA: who only checks tokens needs no secret."),
    ] = "HS256",
    drop: Annotated[
        str | None,
        Parameter(
            help="Make no new key: take this one out, and refuse what it signed.",
            show_default=False,
        ),
    ] = None,
    keys: Keys = None,
    dir: Dir = None,
    json: Json = False,
) -> int:
    """Make a new key, which signs from now on; the older ones go on checking.

    Gateways that run take it over within a second. Exit status 0: done. 1: the keys
    cannot be changed.
    """
    from .shown import cell, print_all, print_json, when

    file = _key_file(folder(dir), keys)
    file.make()
    if drop is None:
        file.rotate(algorithm)
    else:
        file.drop(drop)
    found = file.keys()
    rows: list[dict[str, Any]] = [
        {
            "kid": key.id,
            "algorithm": key.algorithm,
            "made_ms": key.made_ms,
            "signs": key == found.signing,
        }
        for key in found.keys
    ]
    if json:
        print_json({"keys": rows})
    else:
        for row in rows:
            use = "signs" if row["signs"] else "checks"
            made = when(row["made_ms"])
            print_all(cell(f"{row['kid']}  {row['algorithm']:5}  {made}  {use}"))
    return ExitCode.OK


def _key_file(path: Path, keys: Path | None) -> KeyFile:
    from ..cluster_dir import ClusterDir
    from ..tokens import KeyFile

    return KeyFile(keys or ClusterDir.load(path).token_keys_path)


def _tokens(path: Path, keys: Path | None) -> Tokens:
    """The cluster's tokens; its first key is made if it has none."""
    from ..cluster_dir import ClusterDir
    from ..tokens import Tokens

    file = _key_file(path, keys)
    file.make()
    return Tokens(ClusterDir.load(path).cluster, file.keys)


def _facts(grant: Grant) -> dict[str, Any]:
    from datetime import UTC, datetime

    expires = datetime.fromtimestamp(grant.expires_s, UTC)
    said: dict[str, Any] = {
        "kind": grant.kind,
        "scopes": sorted(grant.scopes),
        "match": grant.match,
        "epoch": grant.epoch,
        "seat": grant.seat,
        "session": grant.session,
        "subject": grant.subject,
        "id": grant.id,
        "expires": expires.isoformat(timespec="seconds"),
    }
    return {name: value for name, value in said.items() if value not in ("", 0)}


def _usage(message: str) -> OperatorError:
    return OperatorError(
        "usage",
        message,
        hint="hotseat token mint --help",
        exit_code=ExitCode.USAGE,
    )
