"""Taking back through the client library, against the real supervisor and actors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.machine import compile_game
from hotseat.engine.record import record_to_json
from hotseat.engine.replay import Branches, open_timeline
from hotseat.nodes.client import Accepted, Refusal, Seat, UndoAsked, View
from hotseat.nodes.client.match import RemoteMatch, ViewStream
from hotseat.runtime.match import replay_match

from .test_client_supervisor import client_of, one_node


@asynccontextmanager
async def table() -> AsyncIterator[tuple[RemoteMatch, Seat, Seat]]:
    """Tic-tac-toe between two clients of one node."""
    async with (
        one_node() as node,
        client_of(node, "c1") as one,
        client_of(node, "c2") as two,
    ):
        match = await one.create("tic-tac-toe", players=["0", "1"])
        assert isinstance(match, RemoteMatch)
        first = await match.take("0")
        second = await two.join(match.id, match.epoch, match.seats).take("1")
        assert isinstance(first, Seat)
        assert isinstance(second, Seat)
        yield match, first, second


async def place(seat: Seat, cell: int) -> Accepted:
    outcome = await seat.dispatch("place", {"cell": cell})
    assert isinstance(outcome, Accepted)
    return outcome


async def view_when(stream: ViewStream, wanted: Callable[[View], bool]) -> View:
    async for view in stream:
        if wanted(view):
            return view
    raise AssertionError("the match ended before")


async def test_a_request_reaches_who_must_agree_and_all_see_the_takeback(
    autojump_clock: object,
) -> None:
    """Asked, seen, agreed: every view goes back while its revision goes on."""
    async with table() as (match, first, second):
        spectator, theirs = match.watch().views(), second.views()
        moved = await place(first, 4)
        asked = await first.ask_undo()
        assert isinstance(asked, Accepted)
        view = await view_when(theirs, lambda view: view.undo is not None)
        assert view.undo == UndoAsked(asked.revision, "0", 0, ())
        assert view.view["board"][4] == "X"
        done = await second.answer_undo(True)
        assert isinstance(done, Accepted)
        assert done.revision > asked.revision > moved.revision
        for stream in (spectator, theirs, first.views()):
            seen = await view_when(stream, lambda view: view.revision == done.revision)
            assert seen.view["board"] == [None] * 9
            assert seen.undo is None
            assert seen.active_players == ("0",)
            assert seen.turn == 1


async def test_a_request_is_declined_withdrawn_or_voided_by_a_move(
    autojump_clock: object,
) -> None:
    """In every case nothing goes back, and a late yes is refused."""
    async with table() as (_, first, second):
        theirs = second.views()
        await place(first, 0)
        assert isinstance(await first.ask_undo(), Accepted)
        await view_when(theirs, lambda view: view.undo is not None)
        assert isinstance(await second.answer_undo(False), Accepted)
        again = await first.ask_undo()
        assert isinstance(again, Refusal)
        assert again.code == "undo_declined"
        await place(second, 1)
        await first.resync()
        assert isinstance(await first.ask_undo(), Accepted)
        view = await view_when(theirs, lambda view: view.undo is not None)
        assert view.undo is not None
        await place(first, 2)
        late = await second.answer_undo(True, request=view.undo.revision)
        assert isinstance(late, Refusal)
        assert late.code == "no_undo_request"
        await view_when(theirs, lambda view: view.undo is None)
        unasked = await second.answer_undo(True)
        assert isinstance(unasked, Refusal)
        assert unasked.code == "no_undo_request"


async def test_a_request_from_an_older_view_is_stale(autojump_clock: object) -> None:
    """Who has not seen the reply does not take it back along with their move."""
    async with table() as (_, first, second):
        await first.resync()
        await place(first, 0)
        mine = first.views()
        seen = await view_when(mine, lambda view: view.turn == 2)
        await place(second, 1)
        stale = await first.ask_undo(base_revision=seen.revision)
        assert isinstance(stale, Refusal)
        assert stale.code == "stale_revision"


async def test_the_log_of_a_match_with_takebacks_plays_back(
    autojump_clock: object,
) -> None:
    """To its last digest, with what was taken back as a branch."""
    async with table() as (match, first, second):
        await place(first, 8)
        await first.ask_undo()
        await second.resync()
        assert isinstance(await second.answer_undo(True), Accepted)
        for cell in (0, 3, 1, 4, 2):
            last = await place(first if cell < 3 else second, cell)
        records = await match.log()
        assert isinstance(records, list)
        state = replay_match(compile_game(tic_tac_toe), records)
        assert state.revision == last.revision
        assert state.ended
        kinds = [record_to_json(record)["kind"] for record in records]
        assert kinds.count("takeback") == 2
        branches = Branches(open_timeline(tic_tac_toe, records))
        assert [branch.branch_id for branch in branches] == ["main", "taken-back-1"]
