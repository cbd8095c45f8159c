"""What runs beside the nodes of a local cluster, for players: a gateway, and bots."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable

from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from ..pid_file import holder_of

__all__ = [
    "BOTS",
    "GATEWAY",
    "bots_say_ready",
    "gateway_says_ready",
    "is_loopback",
    "operator_link",
    "play_link",
    "require_free",
]

GATEWAY = "gateway"
BOTS = "bots"
"""The names of the processes that are started beside the nodes."""

OPERATOR_TTL_S = 12 * 3600.0
"""Of the link that an operator is shown at the start: for a day's work."""

OPERATOR = "hotseat up"
"""Who that link is given to: it stands on record with all that is done by it."""

PAGE_S = 2.0
"""How long a gateway may take to say whether it is ready."""


def gateway_says_ready(folder: ClusterDir) -> Callable[[str], Awaitable[bool]]:
    """A probe: ask the gateway's own page."""

    async def probe(name: str) -> bool:
        import httpx

        try:
            url = folder.gateway_url_path(name).read_text("utf-8").strip()
            async with httpx.AsyncClient(timeout=PAGE_S) as http:
                return (await http.get(f"{url}/readyz")).is_success
        except (OSError, httpx.HTTPError, httpx.InvalidURL):
            return False  # not there yet

    return probe


def bots_say_ready(folder: ClusterDir) -> Callable[[str], Awaitable[bool]]:
    """A probe: the process that runs now has said so in the folder."""

    async def probe(name: str) -> bool:
        try:
            said = int(folder.bots_ready_path(name).read_text("ascii"))
        except (OSError, ValueError):
            return False  # not there yet
        return said == holder_of(folder.bots_pid_path(name))

    return probe


def is_loopback(listen: str) -> bool:
    """Whether only this machine reaches HOST:PORT."""
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_free(listen: str) -> None:
    """Make sure that a gateway can listen at HOST:PORT, before anything is started.

    Raises:
        OperatorError: address_taken, address_unusable.
    """
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, int(port)))
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else error
        raise OperatorError(
            "address_taken" if taken else "address_unusable",
            f"{listen} is in use already"
            if taken
            else f"nobody can listen on {listen}: {reason}",
            hint="choose another: hotseat up --gateway HOST:PORT, "
            "or make run GATEWAY=HOST:PORT",
            exit_code=ExitCode.USAGE,
        ) from error


def play_link(folder: ClusterDir) -> str:
    """Where players go."""
    return f"{_url(folder)}/"


def operator_link(folder: ClusterDir) -> str:
    """Where an operator looks at the cluster, with a token to do so.

    The token stands behind the #, which no browser sends to a server.

    Raises:
        KeyFileError: No key can sign it.
    """
    from ..tokens import KeyFile, Tokens

    tokens = Tokens(folder.cluster, KeyFile(folder.token_keys_path).keys)
    token = tokens.mint(
        "operator", OPERATOR_TTL_S, subject=OPERATOR, scopes=frozenset({"inspect"})
    )
    return f"{_url(folder)}/cluster#t={token}"


def _url(folder: ClusterDir) -> str:
    return folder.gateway_url_path(GATEWAY).read_text("utf-8").strip()
