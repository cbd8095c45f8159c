"""Where a coordinator is: `etcd://HOST:PORT[,HOST:PORT...]`, read and checked.

Imports nothing of ours: the configuration, the command line and the nodes all use it.
"""

from __future__ import annotations

import re

__all__ = ["etcd_endpoints"]

SCHEME = "etcd://"
ENDPOINTS_MAX = 16

ENDPOINT = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


def etcd_endpoints(address: str) -> tuple[str, ...]:
    """The members of the etcd cluster, as `http://HOST:PORT`, in the order given.

    Raises:
        ValueError: It is no such address.
    """
    parts = address.removeprefix(SCHEME).split(",")
    found = [ENDPOINT.fullmatch(part) for part in parts]
    sound = all(match and 1 <= int(match[1]) <= 65535 for match in found)
    if not address.startswith(SCHEME) or not sound:
        raise ValueError(
            "etcd://HOST:PORT of every member, as"
            " etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379"
        )
    if len(set(parts)) != len(parts) or len(parts) > ENDPOINTS_MAX:
        raise ValueError(f"1 to {ENDPOINTS_MAX} members, none of them twice")
    return tuple(f"http://{part}" for part in parts)
