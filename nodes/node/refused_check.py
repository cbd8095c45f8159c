"""Is the process behind a lost link gone? One attempt to connect says so.

Where nobody listens any more, the system refuses a connection at once: the process has
ended, whatever the network does. Silence, or a connection that is taken, says nothing.
"""

from __future__ import annotations

import anyio
from anyio.abc import ByteStream

__all__ = ["REFUSAL_S", "is_refused"]

REFUSAL_S = 0.1
"""How long to wait for an answer: a refusal comes in a round trip."""


async def is_refused(inbox: str) -> bool:
    """Whether a connection to this inbox (`tcp://host:port`, `ipc://path`) is refused.

    False when it cannot be told. Never raises.
    """
    scheme, _, place = inbox.partition("://")
    stream: ByteStream
    with anyio.move_on_after(REFUSAL_S):
        try:
            if scheme == "ipc":
                stream = await anyio.connect_unix(place)
            elif scheme == "tcp":
                host, _, port = place.rpartition(":")
                stream = await anyio.connect_tcp(host.strip("[]"), int(port))
            else:
                return False
        except OSError as error:
            return _says_refused(error)
        except ValueError:
            return False
        await stream.aclose()
    return False


def _says_refused(error: BaseException) -> bool:
    """Of several addresses, every one must have refused."""
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        return True
    if isinstance(error, BaseExceptionGroup):
        return all(map(_says_refused, error.exceptions))
    return error.__cause__ is not None and _says_refused(error.__cause__)
