"""Asks a node's command door one thing, and waits for the answer.

A request and its answer are msgpack maps: `{"op": ...}` there, `{"ok": true, ...}`
or `{"ok": false, "code", "message"}` back. For the operator's commands, and for clients
that look for the nodes; all else goes over links.

A door that is no file of this machine is a `sealed_door`: the request is proved with
the cluster's secret. `--secret` or HOTSEAT_SECRET_FILE names it, or it lies in the
cluster's folder.
"""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgpack

from ...runtime.errors import LinkError
from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .sealed_door import is_private, prove, proved

__all__ = [
    "ASKED_FOLDER",
    "DOOR_TIMEOUT_S",
    "DoorRefused",
    "DoorUnreachable",
    "ask_door",
    "secret_file",
]

DOOR_TIMEOUT_S = 2.0
"""A door answers from memory: silence for this long means that the node hangs."""


ASKED_FOLDER: ContextVar[Path | None] = ContextVar("ASKED_FOLDER", default=None)
"""Of the cluster whose doors are asked, once it is found: its secret may lie there."""


class DoorUnreachable(OperatorError):
    """No node answers at that address. Code: door_unreachable or door_timeout."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "door_unreachable",
        hint: str = "hotseat up starts a cluster; hotseat status --dir DIR shows it",
    ) -> None:
        super().__init__(
            code,
            message,
            hint=hint,
            exit_code=ExitCode.UNREACHABLE,
        )


class DoorRefused(OperatorError):
    """The node answered, with a no."""


async def ask_door(
    address: str, op: str, *, timeout_s: float = DOOR_TIMEOUT_S, **fields: Any
) -> dict[str, Any]:
    """Send one request; return the answer's fields.

    Raises:
        DoorUnreachable: No answer in time, or what answers is no door.
        DoorRefused: The node says no, with its code.
        OperatorError: no_secret: it wants one, and there is none here.
    """
    request: bytes = msgpack.packb({"op": op, **fields})
    if is_private(address):
        answer = await _ask(address, request, timeout_s)
    else:
        answer = await _ask_sealed(address, request, timeout_s)
    return _granted(address, answer)


async def _ask(address: str, request: bytes, timeout_s: float) -> dict[str, Any]:
    """
    Raises:
        DoorUnreachable: See `ask_door`.
    """
    from ..door_client import door_request

    try:
        reply = await door_request(address, request, timeout_s)
    except LinkError as error:
        raise DoorUnreachable(str(error), code=error.code) from error
    return _unpacked(address, reply)


async def _ask_sealed(address: str, request: bytes, timeout_s: float) -> dict[str, Any]:
    """
    Raises:
        DoorUnreachable, DoorRefused, OperatorError: See `ask_door`.
    """
    secret = _secret()
    hello = _granted(
        address, await _ask(address, msgpack.packb({"op": "hello"}), timeout_s)
    )
    nonce = hello.get("nonce")
    if not isinstance(nonce, bytes):
        raise DoorUnreachable(f"what answers at {address} is no node's open door")
    sealed = {
        "op": "sealed",
        "nonce": nonce,
        "request": request,
        "proof": prove(secret, b"request", nonce, request),
    }
    given = _granted(address, await _ask(address, msgpack.packb(sealed), timeout_s))
    answer = given.get("answer")
    if not isinstance(answer, bytes) or not proved(
        secret, b"answer", nonce, answer, given.get("proof")
    ):
        raise DoorUnreachable(f"what answers at {address} does not know the secret")
    return _unpacked(address, answer)


def secret_file() -> Path:
    """The file with the secret that doors on a network are asked with."""
    named = os.environ.get("HOTSEAT_SECRET_FILE")
    if named:
        return Path(named).absolute()
    folder = ASKED_FOLDER.get() or Path(os.environ.get("HOTSEAT_DIR") or ".hotseat")
    return _kept_in(folder.absolute())


def _secret() -> bytes:
    """
    Raises:
        OperatorError: no_secret.
    """
    path = secret_file()
    try:
        text = path.read_text("ascii").strip()
        if re.fullmatch(r"[0-9a-f]{64}", text):
            return bytes.fromhex(text)
        problem = "it is not 64 hex digits"
    except (OSError, ValueError) as error:
        problem = str(error)
    raise OperatorError(
        "no_secret",
        f"a door on a network wants the cluster's secret; {path} is none: {problem}",
        hint="--secret or HOTSEAT_SECRET_FILE names a copy of the cluster's secret",
        exit_code=ExitCode.USAGE,
    )


def _kept_in(folder: Path) -> Path:
    """The secret of a cluster's folder: it may say that it lies elsewhere."""
    try:
        return ClusterDir.load(folder).secret_path
    except OperatorError:
        return folder / "secret"


def _unpacked(address: str, reply: bytes) -> dict[str, Any]:
    """
    Raises:
        DoorUnreachable: It is no node's answer.
    """
    try:
        answer = msgpack.unpackb(reply)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise DoorUnreachable(f"what answers at {address} is no node") from error
    if not isinstance(answer, dict):
        raise DoorUnreachable(f"what answers at {address} is no node")
    return answer


def _granted(address: str, answer: dict[str, Any]) -> dict[str, Any]:
    """
    Raises:
        DoorRefused: It is a no.
    """
    if not answer.pop("ok", False):
        code, message = answer.get("code", "refused"), answer.get("message", "")
        raise DoorRefused(str(code), f"{address}: {message or code}")
    return answer
