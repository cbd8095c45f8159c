"""Where an etcd is, as an operator writes it."""

from __future__ import annotations

import pytest

from hotseat.runtime.coordinator_address import etcd_endpoints


@pytest.mark.parametrize(
    ("address", "endpoints"),
    [
        ("etcd://127.0.0.1:2379", ("http://127.0.0.1:2379",)),
        ("etcd://a.b-c:1,[::1]:2", ("http://a.b-c:1", "http://[::1]:2")),
    ],
)
def test_members_in_their_order(address: str, endpoints: tuple[str, ...]) -> None:
    """Each member is one address of its own."""
    assert etcd_endpoints(address) == endpoints


@pytest.mark.parametrize(
    "address",
    [
        "",
        "etcd://",
        "etcd://host",
        "etcd://host:0",
        "etcd://host:65536",
        "etcd://host:2379/path",
        "etcd://user@host:2379",
        "etcd://host:2379,",
        "etcd://host:2379, other:2379",
        "etcd://host:2379,host:2379",
        "http://host:2379",
        "host:2379",
        "etcd://" + ",".join(f"h{n}:1" for n in range(17)),
    ],
)
def test_anything_else_is_refused(address: str) -> None:
    """No address is guessed at."""
    with pytest.raises(ValueError, match=r"members|HOST:PORT"):
        etcd_endpoints(address)
