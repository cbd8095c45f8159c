"""B85 with real processes: results are told though their teller is killed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest

from hotseat.nodes.chaos.cluster import ChaosCluster, ClusterPlan, chaos_cluster
from hotseat.nodes.client import connect
from hotseat.nodes.client.match import RemoteMatch, Seat
from hotseat.nodes.client.outcome import Accepted
from hotseat.nodes.client.view import View
from hotseat.nodes.node.result_sink import KEY_HEADER
from hotseat.nodes.operator.ask_cluster import ask_cluster

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

PATIENCE_S = 40.0
MATCHES = 3


class Receiver(ThreadingHTTPServer):
    """Counts each key once. While it hangs it has the result, and says nothing."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.counted: dict[str, Any] = {}
        self.hangs = True
        self.mended = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """One POST."""

    server: Receiver

    def do_POST(self) -> None:
        key = self.headers[KEY_HEADER]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(key)
        if self.server.hangs:
            self.server.mended.wait(PATIENCE_S)
            return  # the connection is closed without an answer
        self.server.counted.setdefault(key, body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A web service on this machine."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.mended.set()
            server.shutdown()
            thread.join()


async def play_out(match: RemoteMatch) -> None:
    """Play the first legal action at every turn until the match has ended."""
    seats = [await match.take(name) for name in match.seats]
    while True:
        for seat in seats:
            assert isinstance(seat, Seat), seat
            view = await seat.resync(legal=True)
            assert isinstance(view, View), view
            if view.ended:
                return
            if view.my_turn:
                assert view.legal
                outcome = await seat.dispatch(*view.legal[0])
                assert isinstance(outcome, Accepted), outcome


def test_b85_results_are_told_after_all_nodes_were_killed() -> None:
    """Each ended match's result arrives with its key, and is counted once."""
    with receiver() as server:
        address = f"http://127.0.0.1:{server.server_port}/results"
        options = f'\n[results]\nwebhook = "{address}"\nretry_first_s = 0.2\n'

        async def main() -> None:
            plan = ClusterPlan(nodes=2, shards=4, options=options)
            async with chaos_cluster(plan) as cluster:
                await cluster.until_full(PATIENCE_S)
                names = []
                async with connect(cluster.home) as client:
                    for _ in range(MATCHES):
                        match = await client.create("tic-tac-toe", players=["0", "1"])
                        assert isinstance(match, RemoteMatch), match
                        await play_out(match)
                        names.append(match.id)
                await until(lambda: len(server.asked) >= 1)
                cluster.processes.kill(cluster.nodes)
                assert not server.counted
                server.hangs = False
                server.mended.set()
                await until(lambda: len(server.counted) >= MATCHES)
                await cluster.until_full(PATIENCE_S)
                told = {key.split(":")[0] for key in server.counted}
                assert told == set(names)
                await until_told(cluster)

        anyio.run(main)
    assert len(server.counted) == MATCHES
    for key, body in server.counted.items():
        assert body["key"] == key
        assert body["game"] == "tic-tac-toe"
        assert body["result"] is not None


async def until_told(cluster: ChaosCluster) -> None:
    """Wait until the logs say of all results that they are delivered."""
    waiting = 1
    with anyio.fail_after(PATIENCE_S):
        while waiting:
            await anyio.sleep(0.1)  # between two asks
            answers = await ask_cluster(cluster.home, "status")
            waiting = sum(
                answer["statistics"]["results"]["waiting"]
                for answer in answers.values()
                if isinstance(answer, dict)
            )


async def until(holds: Any) -> None:
    """Wait for what must come."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it did not come"
        await anyio.sleep(0.05)
