"""Links over nng keep the promises of links, on tcp and ipc, trio and asyncio."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.nng import NngEndpoint, NngWire
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Endpoint, Identity
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.testing.check_link import CHECKS, Check
from hotseat.runtime.wire import Wire

pytestmark = pytest.mark.system

SECRET = Credential(b"the cluster's own secret")


class NngMaker:
    """Makes endpoints that listen on tcp, or on ipc in a folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.numbers = count(1)

    def endpoint(
        self,
        identity: Identity,
        credential: Credential,
        options: LinkOptions,
        inbox: str | None = None,
    ) -> Endpoint:
        return NngEndpoint(identity, inbox or self.place(), credential, options)

    def wire(self) -> Wire:
        return NngWire(self.place())

    def place(self) -> str:
        if self.folder is None:
            return "tcp://127.0.0.1:0"
        return f"ipc://{self.folder}/{next(self.numbers)}"


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_links(
    check: Check,
    transport: str,
    backend: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every promise of a link holds over nng, and no callback fails unseen."""
    maker = NngMaker(tmp_path if transport == "ipc" else None)
    anyio.run(partial(check, maker), backend=backend)
    # asyncio and pynng log what a callback raises, and go on.
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
