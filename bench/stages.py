"""Where the time of an action goes: `python -m bench.stages [--cluster]`.

Prints the tables of docs/performance.md. Every stage is run by itself, on what the
stages before it made in a real match, and in turn with its floor: the least that the
same work costs with the same libraries. The sum of stages is less than a whole step:
alone, a stage finds its code and data in the cache.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from hotseat.engine.answer import read_answer
from hotseat.engine.context import EventInput, ResolverContext, StateContext
from hotseat.engine.digest import canonical_bytes, changes
from hotseat.engine.frozen import freeze, freeze_parts
from hotseat.engine.games.tic_tac_toe import game
from hotseat.engine.machine import Machine, compile_game
from hotseat.engine.matching import Family, Question, Selection, select
from hotseat.engine.payload import read_payload
from hotseat.engine.record import RecordKind, seal_record
from hotseat.engine.rng import rng_from
from hotseat.engine.session import create_session
from hotseat.engine.snapshot import EMPTY_DERIVED, Snapshot
from hotseat.engine.step import Batch
from hotseat.engine.table import compile_tables
from hotseat.engine.topology import build_topology
from hotseat.nodes.telemetry import structured_logging
from hotseat.runtime.codec import decode_frame, encode_frame, pack
from hotseat.runtime.command import Act, TakeSeat
from hotseat.runtime.committer import LocalCommitter
from hotseat.runtime.frame import Accepted, Dispatch, Sync
from hotseat.runtime.mailbox import Mailbox
from hotseat.runtime.match import Decision, create_match, decide
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.options import MatchOptions
from hotseat.runtime.route import Route
from hotseat.runtime.subscribers import Subscribers
from hotseat.runtime.translate import read_dispatch

from .bare_tic_tac_toe import MOVES
from .cluster import MATCHES_AT_ONCE, local_cluster, play_load

__all__ = ["main"]

MATCH = {"players": ["0", "1"]}
REPEATS = 60
"""Runs of one game's moves in a timed block."""
ROUNDS = 15
WAKES = 2_000
CLUSTER_ROUNDS = 3

Stage = tuple[str, Callable[[Any], object], Callable[[Any], object] | None]


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a match, with what each stage of its step made."""

    number: int
    payload: dict[str, int]
    before: Snapshot
    question: Question
    chain: tuple[Family, ...]
    contexts: tuple[ResolverContext, ...]
    selection: Selection
    batch: Batch
    given: dict[str, Any]
    covered: Any
    packed: bytes


def main() -> None:
    """Print the tables."""
    machine = compile_game(game)
    moves = _moves(machine)
    whole = statistics.median(_whole_us() for _ in range(ROUNDS))
    _print("A step of tic-tac-toe, session included", _engine(machine), moves, whole)
    actions = _actions(machine)
    _print("An action on the way through a node", _runtime(), actions, None)
    wake = statistics.median(anyio.run(_wake_us) for _ in range(5))
    print(f"\nWaking a waiting task: {wake:.1f} us (asyncio).")
    if "--cluster" in sys.argv[1:]:
        with structured_logging(level="error"):
            _print_cluster()


def _print_cluster() -> None:
    """CPU time per action of the processes of a real cluster, its players included."""
    with local_cluster() as folder:
        play_load(folder, MATCHES_AT_ONCE)
        pids = [int(path.read_text()) for path in (folder / "run").glob("n*.pid")]
        taken = []
        for _ in range(CLUSTER_ROUNDS):
            nodes, players = sum(map(_cpu_s, pids)), time.process_time()
            tally = play_load(folder, MATCHES_AT_ONCE)
            nodes, players = (
                sum(map(_cpu_s, pids)) - nodes,
                time.process_time() - players,
            )
            each = 1_000_000 / tally.actions_acked
            taken.append((nodes * each, players * each, tally.actions_per_s))
    nodes, players, rate = (
        statistics.median(column) for column in zip(*taken, strict=True)
    )
    print(
        f"\nA cluster under load: {nodes:.0f} us of CPU per action in the three nodes, "
        f"{players:.0f} us in the process of the players, {rate:,.0f} actions/s."
    )


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _moves(machine: Machine) -> list[Move]:
    tables = compile_tables(game, build_topology(game))
    session = create_session(game, MATCH)
    moves = []
    for number, cell in enumerate(MOVES):
        before, seat = session.snapshot, str(number % 2)
        payload = {"cell": cell}
        frozen = freeze(payload)
        event = read_payload("place", game.events["place"], frozen)
        assert isinstance(event, EventInput), event
        question = Question(before, number, event, seat, f"m_{number + 1}")
        chain = tables[before.position.name].chains["place"]
        selection = select(chain, question)
        assert isinstance(selection, Selection), selection
        batch = session.apply(seat, "place", payload, now=number)
        assert isinstance(batch, Batch), batch
        record = session.log[-1]
        G = changes(before.G, batch.snapshot.G)
        covered = [record.index, "action", number, number + 1, record.input, G]
        contexts = tuple(_context(question) for _ in chain[0].edges)
        moves.append(
            Move(
                number,
                payload,
                before,
                question,
                chain,
                contexts,
                selection,
                batch,
                dict(record.input),
                covered,
                canonical_bytes(covered),
            )
        )
    return moves


def _context(question: Question) -> ResolverContext:
    before = question.before
    return ResolverContext(
        before.G,
        before.position,
        before.derived,
        before.meta.match,
        question.now,
        question.event,
        question.player_id,
        question.action_id,
        rng_from(before.meta.rng),
    )


def _engine(machine: Machine) -> Sequence[Stage]:
    tables = compile_tables(game, build_topology(game))
    place = game.events["place"]
    convert = place.payload

    def author(move: Move) -> None:
        for edge, ctx in zip(move.chain[0].edges, move.contexts, strict=True):
            assert edge.resolve is not None
            edge.resolve(ctx)

    def derive(move: Move) -> object:
        after = move.batch.snapshot
        derivation = tables[after.position.name].derivation
        return derivation.derive(after.G, after.position, after.meta.match, move.number)

    def derive_author(move: Move) -> None:
        after = move.batch.snapshot
        ctx = StateContext(
            after.G, after.position, EMPTY_DERIVED, after.meta.match, move.number
        )
        part = game.states[after.position.name]
        for each in (part.active_players, part.label):
            if callable(each):
                each(ctx)

    def apply(move: Move) -> object:
        return machine.apply(
            move.before,
            move.question.player_id or "",
            "place",
            move.payload,
            now=move.number,
            action_id="m_1",
        )

    def payload(move: Move) -> object:
        return read_payload("place", place, freeze(move.payload))

    return (
        (
            "payload: frozen, of its type",
            payload,
            lambda m: msgspec.convert(m.payload, convert),
        ),
        ("matching, with the resolvers", lambda m: select(m.chain, m.question), author),
        (
            "answer: checked, G frozen",
            lambda m: read_answer(m.selection.answer, game.events, m.before.meta.match),
            lambda m: dict(m.selection.answer),
        ),
        ("derivations, with the author's", derive, derive_author),
        ("**the whole core**", apply, author),
        (
            "record: what changed, digest",
            _seal,
            lambda m: blake2b(m.packed, digest_size=16).digest(),
        ),
    )


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a hosted match, with what each stage on its way made."""

    frame: Dispatch
    data: bytes
    act: Act
    now: int
    before: MatchState
    after: Decision
    view: Any


def _actions(machine: Machine) -> list[Action]:
    created = create_match(
        machine,
        match="m" * 26,
        epoch=1,
        creation="bench",
        match_input=MATCH,
        seed="bench",
        now_ms=0,
    )
    state = created.state
    for seat in ("0", "1"):
        state = decide(state, TakeSeat(seat, drawn=seat * 32), 0).state
    actions = []
    for number, cell in enumerate(MOVES):
        seat, key = str(number % 2), number // 2 + 1
        frame = Dispatch(
            number + 1, "m" * 26, 1, seat, 1, key, "place", pack({"cell": cell}), None
        )
        act = read_dispatch(frame, 4_096)
        assert isinstance(act, Act), act
        decision = decide(state, act, number)
        assert decision.change is not None, decision.answer
        view = machine.player_view(decision.state.snapshot, seat)
        data = encode_frame(frame)
        actions.append(Action(frame, data, act, number, state, decision, view))
        state = decision.state
    return actions


def _runtime() -> Sequence[Stage]:
    encode = msgspec.msgpack.Encoder().encode
    plain_decode = msgspec.msgpack.Decoder().decode
    mailbox: Mailbox[Dispatch] = Mailbox(64, 65_536)
    waiting: list[Dispatch] = []
    options = MatchOptions()
    subscribers = Subscribers(1, options)

    def read(action: Action) -> object:
        frame = decode_frame(action.data)
        assert isinstance(frame, Dispatch)
        return read_dispatch(frame, 4_096)

    def put(action: Action) -> object:
        mailbox.put_nowait(action.frame, 100)
        return mailbox.drain()

    def append(action: Action) -> None:
        waiting.append(action.frame)
        waiting.clear()

    def draw(action: Action) -> list[bytes]:
        nonlocal subscribers
        if action.now == 0:  # the match begins again
            subscribers = Subscribers(1, options)
            for seat in ("0", "1"):
                route = Route("peer", f"client {seat}")
                subscribers.add(route, Sync(1, "m" * 26, 1, seat, 1))
            subscribers.flush(action.before)
        change = action.after.change
        if change is not None and change.batch is not None:
            subscribers.committed(change.batch)
        frames = subscribers.flush(action.after.state)
        return [encode_frame(frame) for _, frame in frames]

    return (
        (
            "client: frame encoded",
            lambda a: encode_frame(a.frame),
            lambda a: encode(a.frame),
        ),
        ("node: frame decoded, action read", read, lambda a: plain_decode(a.data)),
        ("mailbox: in and out", put, append),
        (
            "decide: key judged, engine, record",
            lambda a: decide(a.before, a.act, a.now),
            _core,
        ),
        ("commit: in the owner's memory", _commit, lambda a: _nothing()),
        (
            "2 views: drawn, redacted, packed",
            draw,
            lambda a: (encode(a.view), encode(a.view)),
        ),
        (
            "answer: encoded",
            lambda a: encode_frame(Accepted(1, "m" * 26, 1, 1)),
            lambda a: encode((1, "m" * 26, 1, 1)),
        ),
    )


def _seal(move: Move) -> object:
    return seal_record(
        b"\0" * 16,
        index=1,
        kind=RecordKind.ACTION,
        time_ms=move.number,
        revision_after=move.number + 1,
        input=freeze_parts(move.given),
        before=move.before,
        batch=move.batch,
        snapshot=move.batch.snapshot,
    )


def _core(action: Action) -> object:
    before = action.before
    return before.machine.apply(
        before.snapshot,
        action.act.seat,
        "place",
        action.act.payload,
        now=action.now,
        action_id="1",
    )


def _commit(action: Action) -> None:
    change = action.after.change
    assert change is not None
    LocalCommitter().submit("m", (change,), on_commit=_nothing, on_abandon=_nothing)


def _nothing(*args: object) -> None:
    pass


def _whole_us() -> float:
    sessions = [create_session(game, MATCH) for _ in range(REPEATS)]
    gc.collect()
    began = time.process_time_ns()
    for session in sessions:
        for number, cell in enumerate(MOVES):
            session.apply(str(number % 2), "place", {"cell": cell}, now=number)
    return (time.process_time_ns() - began) / REPEATS / len(MOVES) / 1000


async def _wake_us() -> float:
    """From one task's `set` to the other one's next step, and back: half of it."""
    here, there = anyio.Event(), anyio.Event()
    spent = 0

    async def other() -> None:
        nonlocal here, there
        for _ in range(WAKES):
            await there.wait()
            there = anyio.Event()
            here.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await anyio.lowlevel.checkpoint()
        began = time.process_time_ns()
        for _ in range(WAKES):
            there.set()
            await here.wait()
            here = anyio.Event()
        spent = time.process_time_ns() - began
    return spent / WAKES / 2 / 1000


def _print(
    title: str, stages: Sequence[Stage], inputs: Sequence[Any], whole: float | None
) -> None:
    taken: dict[str, tuple[list[float], list[float]]] = {}
    for _ in range(ROUNDS):
        idle = _stage_us(_nothing, inputs)
        for name, stage, floor in stages:
            values, floors = taken.setdefault(name, ([], []))
            values.append(_stage_us(stage, inputs) - idle)
            if floor is not None:
                floors.append(max(0.0, _stage_us(floor, inputs) - idle))
    total = whole or sum(statistics.median(values) for values, _ in taken.values())
    print(f"\n### {title}\n")
    print("| stage | us | share | floor us |\n|---|---:|---:|---:|")
    for name, (values, floors) in taken.items():
        us, floor_us = statistics.median(values), statistics.median(floors)
        print(f"| {name} | {us:.2f} | {us / total:.0%} | {floor_us:.2f} |")
    print(f"| whole | {total:.2f} | 100% | |")


def _stage_us(stage: Callable[[Any], object], inputs: Sequence[Any]) -> float:
    began = time.process_time_ns()
    for _ in range(REPEATS):
        for each in inputs:
            stage(each)
    return (time.process_time_ns() - began) / REPEATS / len(inputs) / 1000


if __name__ == "__main__":
    main()
