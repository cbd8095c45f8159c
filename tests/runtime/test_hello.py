"""Hello: only members of the cluster, meant for us, in our language, get in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotseat.runtime.codec import decode_message, encode_hello
from hotseat.runtime.frame import Hello
from hotseat.runtime.hello import (
    Credential,
    HelloRefusal,
    address_of,
    build_hello,
    identity_of,
    verify_hello,
)
from hotseat.runtime.link import Identity, PeerAddress

SECRET = Credential(b"s" * 32)
ANNA = Identity("c1", "n1", "node", "inc-a", "local", (("chess", "1"),))
BERT = Identity("c1", "n2", "node", "inc-b")


def hello(credential: Credential = SECRET, identity: Identity = ANNA) -> Hello:
    return build_hello(credential, identity, "tcp://127.0.0.1:1", "inc-b", link=3)


def test_a_member_is_accepted() -> None:
    """A hello that went over the wire proves who sent it and where to answer."""
    received = decode_message(encode_hello(hello()))
    assert isinstance(received, Hello)
    assert verify_hello(SECRET, BERT, received) is None
    assert identity_of(received) == ANNA
    assert address_of(received) == PeerAddress("n1", "tcp://127.0.0.1:1", "inc-a")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("process", "n9"),
        ("kind", "client"),
        ("incarnation", "x"),
        ("principal", "root"),
        ("inbox", "tcp://10.0.0.1:1"),
        ("games", ()),
        ("link", 4),
        ("proof", b""),
        ("proof", b"\0" * 32),
    ],
)
def test_no_field_can_be_changed(field: str, value: Any) -> None:
    """The proof covers every field: one changed, and it is refused."""
    forged = msgspec.structs.replace(hello(), **{field: value})
    refused = verify_hello(SECRET, BERT, forged)
    assert refused is not None
    assert refused.reason is HelloRefusal.PROOF


def test_another_secret_is_refused() -> None:
    """Who does not hold the cluster's secret is not a member."""
    refused = verify_hello(SECRET, BERT, hello(Credential(b"t" * 32)))
    assert refused is not None
    assert refused.reason is HelloRefusal.PROOF


@pytest.mark.parametrize(
    ("receiver", "reason"),
    [
        (Identity("c2", "n2", "node", "inc-b"), HelloRefusal.CLUSTER),
        (Identity("c1", "n2", "node", "inc-later"), HelloRefusal.RECEIVER),
        (Identity("c1", "n1", "node", "inc-b"), HelloRefusal.SELF),
    ],
)
def test_a_hello_is_for_one_receiver(receiver: Identity, reason: HelloRefusal) -> None:
    """Another cluster, another incarnation or a process of the sender's own name."""
    refused = verify_hello(SECRET, receiver, hello())
    assert refused is not None
    assert refused.reason is reason


def test_another_version_is_named() -> None:
    """A peer of another version gets a reason that says so, before its proof."""
    refused = verify_hello(SECRET, BERT, msgspec.structs.replace(hello(), protocol=99))
    assert refused is not None
    assert refused.reason is HelloRefusal.PROTOCOL
    assert "99" in refused.detail


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_names_are_bounded(name: str) -> None:
    """Even a member's names are short and not empty."""
    odd = Identity("c1", name, "node", "inc-a")
    refused = verify_hello(SECRET, BERT, hello(identity=odd))
    assert refused is not None
    assert refused.reason is HelloRefusal.NAMES


def test_a_short_secret_is_refused() -> None:
    """A secret that could be guessed is an error at start."""
    with pytest.raises(ValueError, match="at least 16"):
        Credential(b"short")


def test_the_secret_is_never_printed() -> None:
    """Neither repr nor str of a credential shows it."""
    assert "ssss" not in f"{SECRET!r} {SECRET}"


def test_a_kind_is_one_of_three() -> None:
    """A process of an unknown kind cannot introduce itself."""
    with pytest.raises(ValueError, match="gateway"):
        hello(identity=Identity("c1", "n1", "robot", "inc-a"))
