"""The proof of membership that opens every pipe.

Pure: builds a hello and judges one; it knows no socket and no clock. The proof is
HMAC-SHA256 with the cluster's secret over all the other fields, the receiver's
incarnation among them: a hello that was caught elsewhere proves nothing here.

A refusal is a value. It is logged and counted, never sent: whoever has not proved
membership learns nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

import msgspec

from .codec import encode_hello
from .frame import PROTOCOL_VERSION, Hello
from .link import Identity, PeerAddress

__all__ = [
    "Credential",
    "HelloRefusal",
    "HelloRefused",
    "PROCESS_NAME_LENGTH_MAX",
    "SECRET_BYTES_MIN",
    "address_of",
    "build_hello",
    "identity_of",
    "verify_hello",
]

# Bytes of a secret: 128 bits.
SECRET_BYTES_MIN = 16

# Characters of the names in a hello: they become keys of tables and fields of logs.
PROCESS_NAME_LENGTH_MAX = 256

# Games that one process may list.
_GAMES_MAX = 1024

# Keeps this proof apart from any other that the same secret may sign.
_PURPOSE = b"hotseat hello\0"

Kind = Literal["node", "gateway", "client"]


class HelloRefusal(StrEnum):
    """Why a hello was refused."""

    NOT_HELLO = "not_hello"  # the first message was something else
    MALFORMED = "malformed"  # the first message cannot be decoded
    LATE = "late"  # no hello came in time
    PROTOCOL = "protocol_mismatch"  # another version of the protocol
    CLUSTER = "cluster_mismatch"  # it belongs to another cluster
    RECEIVER = "receiver_mismatch"  # it was meant for another process
    PROOF = "bad_proof"  # the secret is another
    NAMES = "bad_names"  # a name is empty or too long
    SELF = "own_name"  # it calls itself what we are called
    STALE = "stale_link"  # a newer link of that process has been seen
    FULL = "too_many_peers"  # no room for another peer


@dataclass(frozen=True, slots=True)
class HelloRefused:
    """A hello was not accepted. `detail` is for the log."""

    reason: HelloRefusal
    detail: str


@dataclass(frozen=True, slots=True)
class Credential:
    """What proves membership: the cluster's secret. Never printed."""

    secret: bytes

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: The secret is shorter than `SECRET_BYTES_MIN`.
        """
        if len(self.secret) < SECRET_BYTES_MIN:
            raise ValueError(
                f"the cluster's secret has {len(self.secret)} bytes; "
                f"it needs at least {SECRET_BYTES_MIN}"
            )

    def __repr__(self) -> str:
        return "Credential(…)"

    def prove(self, hello: Hello) -> bytes:
        """Return the proof for all fields of `hello` but its own `proof`."""
        claim = encode_hello(msgspec.structs.replace(hello, proof=b""))
        return hmac.new(self.secret, _PURPOSE + claim, hashlib.sha256).digest()


def build_hello(
    credential: Credential, identity: Identity, inbox: str, receiver: str, link: int
) -> Hello:
    """Say who we are to the process whose incarnation is `receiver`.

    `inbox` is where we are reached; `link` numbers this pipe and rises.

    Raises:
        ValueError: The identity's kind is none of node, gateway, client.
    """
    if identity.kind not in get_args(Kind):
        raise ValueError(f"a process is a node, gateway or client: {identity.kind!r}")
    kind: Kind = identity.kind  # type: ignore[assignment]  # checked above
    hello = Hello(
        protocol=PROTOCOL_VERSION,
        cluster=identity.cluster,
        process=identity.process,
        kind=kind,
        incarnation=identity.incarnation,
        principal=identity.principal,
        inbox=inbox,
        games=identity.games,
        receiver=receiver,
        link=link,
    )
    return msgspec.structs.replace(hello, proof=credential.prove(hello))


def verify_hello(
    credential: Credential, receiver: Identity, hello: Hello
) -> HelloRefused | None:
    """Judge a hello that came to `receiver`. None: it proves membership.

    The version comes first, because another one may lay its fields out otherwise.
    Names are judged last: only a member's are worth a word.
    """
    if hello.protocol != PROTOCOL_VERSION:
        return HelloRefused(
            HelloRefusal.PROTOCOL,
            f"it speaks version {hello.protocol}, we speak {PROTOCOL_VERSION}",
        )
    if hello.cluster != receiver.cluster:
        return HelloRefused(
            HelloRefusal.CLUSTER,
            f"it belongs to {hello.cluster[:64]!r}, we to {receiver.cluster!r}",
        )
    if hello.receiver != receiver.incarnation:
        return HelloRefused(
            HelloRefusal.RECEIVER, "it was meant for another incarnation or process"
        )
    if not hmac.compare_digest(credential.prove(hello), hello.proof):
        return HelloRefused(HelloRefusal.PROOF, "the cluster's secret does not match")
    names = (hello.process, hello.incarnation, hello.principal, hello.inbox)
    if not all(names) or max(map(len, names)) > PROCESS_NAME_LENGTH_MAX:
        return HelloRefused(HelloRefusal.NAMES, "a name is empty or too long")
    if len(hello.games) > _GAMES_MAX:
        return HelloRefused(HelloRefusal.NAMES, f"it lists {len(hello.games)} games")
    if hello.process == receiver.process:
        return HelloRefused(HelloRefusal.SELF, f"it calls itself {hello.process!r}")
    return None


def identity_of(hello: Hello) -> Identity:
    """Who the sender of an accepted hello is."""
    return Identity(
        cluster=hello.cluster,
        process=hello.process,
        kind=hello.kind,
        incarnation=hello.incarnation,
        principal=hello.principal,
        games=hello.games,
    )


def address_of(hello: Hello) -> PeerAddress:
    """Where the sender of an accepted hello is reached."""
    return PeerAddress(hello.process, hello.inbox, hello.incarnation)
