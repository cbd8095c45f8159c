"""Commands of operators that change something, as one node runs them.

Each is recorded in the coordinator before anything is done and again when it has ended
(`operations_log`): no record, no command. Its id, drawn by who asks, makes it one
command however often it is asked for. It goes on when who asked goes away, and is ended
when the node stops: its record then says `failed`, code `stopping`.

What is done, a `Verb` says. This file knows none of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from ...runtime.control_plane import OperationRecord
from ...runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from ..telemetry import get_logger
from .attachments import Attachments
from .command_request import CommandRequest, read_request
from .door import DoorError, Operation
from .operation_id import is_operation_id
from .operation_page import give_operations, operation_row
from .operations_log import Noted, OperationsLog
from .rows import MOVED_ON, row_json
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb

__all__ = ["COMMANDS_MAX", "OUTCOME_BYTES_MAX", "Commands", "CommandsStatistics"]

COMMANDS_MAX = 8
"""Of a node at one time; further ones are `busy`."""

OUTCOME_BYTES_MAX = 4 * 1024
"""Of an outcome in a record, as JSON. Who asked is told all of it."""

REMEMBERED_MAX = 64
"""Ended commands whose whole outcome is still told to who asks again."""

MESSAGE_MAX = 1_000
"""Characters."""

STOP_S = 2.0
"""In which commands that are ended since the node stops must have written so."""

RETRY_S = 1.0
"""Between two tries to write how a command ended."""

AWAY = "The coordinator does not answer, and no command is run without a record there."

log = get_logger()


@dataclass(frozen=True, slots=True)
class CommandsStatistics:
    """Since the start; `running` now. `unrecorded`: of these, ended ones whose end the
    coordinator does not know yet."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"running", "unrecorded"})

    running: int
    unrecorded: int
    done: int
    failed: int


class _Running:
    """A command under way. Who waits for `told` finds how it ended in one of the
    three below."""

    def __init__(self, command: OperatorCommand, record: OperationRecord) -> None:
        self.command = command
        self.begun = record
        self.scope = anyio.CancelScope()
        self.told = anyio.Event()
        self.ended: OperationRecord | None = None
        self.elsewhere: str | None = None
        self.refusal: DoorError | None = None

    @property
    def undone(self) -> bool:
        """It is no command of this node, or no more."""
        return self.refusal is not None or self.elsewhere is not None

    def refuse(self, refusal: DoorError) -> None:
        self.refusal = refusal
        self.told.set()


class Commands:
    """Runs commands. `run` carries them out; `stop` ends that, before the node's end.

    Invariant: no verb is run twice for one id, but where its first node did a part and
    left the rest to the next one.
    """

    def __init__(
        self,
        log: OperationsLog,
        verbs: Iterable[Verb],
        node: str,
        boot: str,
        now_ms: Callable[[], int],
    ) -> None:
        self._log = log
        self._verbs = {verb.name: verb for verb in verbs}
        self._node = node
        self._boot = boot
        self._now_ms = now_ms
        self._attachments = Attachments()
        self._running: dict[str, _Running] = {}
        self._remembered: dict[str, OperationRecord] = {}
        self._tasks: TaskGroup | None = None
        self._done = self._failed = 0

    async def run(self) -> None:
        """Carry commands out until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:
                self._tasks = None

    async def stop(self) -> None:
        """End all of them, and take no more; their records say so."""
        self._tasks = None
        under_way = [*self._running.values()]
        for running in under_way:
            running.scope.cancel()
        with anyio.move_on_after(STOP_S):
            for running in under_way:
                await running.told.wait()

    def door_operations(self) -> dict[str, Operation]:
        """What the door can be asked."""
        return {
            "attach": self._attachments.take,
            "operate": self.operate,
            "operation": self.operation,
            "operations": self.operations,
        }

    async def operate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Run the command `verb` on `target`, or join the one of that id.

        Answers after `wait_s` at the latest: `operation`, an `OperationRow`, whose
        state may be `running`; or `elsewhere`, the node that is to be asked instead, ""
        if that is not known yet.

        Raises:
            DoorError: malformed_request, unknown_verb, too_large, attachment_missing,
                busy, stopping, coordinator_away, id_reused.
        """
        request = read_request(asked)
        running = self._running.get(request.id)
        if running is not None:
            _check_same(request, running.begun)
        elif request.id in self._remembered:
            ended = self._remembered[request.id]
            _check_same(request, ended)
            return await self._shown(ended)
        else:
            running = self._start(request)
        with anyio.move_on_after(request.wait_s):
            await running.told.wait()
        if running.refusal is not None:
            raise running.refusal
        if running.elsewhere is not None:
            return {"elsewhere": running.elsewhere}
        return await self._seen(running)

    async def operation(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What became of the command `id`: `operation`, an `OperationRow`.

        With `whole`: true, as long as it is known, with what is told to who gave it
        alone.

        Raises:
            DoorError: malformed_request, unknown_operation, coordinator_away.
        """
        id = asked.get("id")
        if not isinstance(id, str) or not is_operation_id(id):
            raise DoorError("malformed_request", "`id` is no id of a command.")
        running = self._running.get(id)
        if running is not None and not running.undone and running.ended is None:
            return await self._seen(running)
        record = self._remembered.get(id) if asked.get("whole") is True else None
        if record is None:
            with _faults_told():
                record = await self._log.get(id)
        if record is None:
            raise DoorError("unknown_operation", f"No command has the id {id}.")
        return await self._shown(record)

    async def operations(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """See `give_operations`.

        Raises:
            DoorError: malformed_request, coordinator_away.
        """
        with _faults_told():
            kept, boots = await self._log.newest(), await self._log.boots()
        return give_operations(kept, boots, asked)

    def statistics(self) -> CommandsStatistics:
        running = self._running.values()
        return CommandsStatistics(
            running=len(running),
            unrecorded=sum(1 for one in running if one.told.is_set()),
            done=self._done,
            failed=self._failed,
        )

    def _start(self, request: CommandRequest) -> _Running:
        """
        Raises:
            DoorError: unknown_verb, stopping, busy, attachment_missing.
        """
        verb = self._verbs.get(request.verb)
        if verb is None:
            known = ", ".join(sorted(self._verbs))
            raise DoorError("unknown_verb", f"This node can be told: {known}.")
        if self._tasks is None:
            raise DoorError("stopping", "This node stops, or is not there yet.")
        if len(self._running) >= COMMANDS_MAX:
            raise DoorError(
                "busy", f"This node runs {COMMANDS_MAX} commands: ask again soon."
            )
        attached = self._attachments.claim(request.id, request.args.get("attached"))
        told = {name: getattr(request, name) for name in _TOLD}
        record = OperationRecord(
            **told, node=self._node, boot=self._boot, asked_ms=self._now_ms()
        )
        running = _Running(OperatorCommand(**told, attached=attached), record)
        self._running[request.id] = running
        self._tasks.start_soon(self._carry_out, running, verb)
        return running

    async def _carry_out(self, running: _Running, verb: Verb) -> None:
        try:
            noted = await self._begin(running)
            if noted is not None:
                await self._perform(running, verb, noted)
        finally:
            del self._running[running.begun.id]

    async def _begin(self, running: _Running) -> Noted | None:
        """Write it down. None: it is not to be run here, and who asks is told why."""
        record = running.begun
        try:
            # A read first: while the coordinator is away nothing is even tried.
            found = await self._log.find(record.id)
        except CoordinatorUnavailable as error:
            running.refuse(DoorError("coordinator_away", f"{AWAY} ({error})"))
            return None
        except ControlRecordInvalid as error:
            running.refuse(DoorError(error.code, str(error)))
            return None
        left = found if found is not None and _goes_on(record, found.record) else None
        if left is not None:
            record = replace(record, asked_ms=left.record.asked_ms)
            running.command.did = str(left.record.outcome.get("did"))
        if found is None or left is not None:
            try:
                if left is None:
                    noted = await self._log.begin(record)
                else:
                    noted = await self._log.take_up(left, record)
            except CoordinatorUnavailable as error:
                running.refuse(DoorError("coordinator_away", f"{AWAY} ({error})"))
                await (self._disown(record) if left is None else self._leave(left))
                return None
            except ControlRecordInvalid as error:
                running.refuse(DoorError(error.code, str(error)))
                return None
            if noted.ours:
                _log_command(record)
                return noted
            found = noted
        try:
            _check_same(record, found.record)
        except DoorError as error:
            running.refuse(error)
        else:
            running.ended = found.record  # or it runs, elsewhere
            running.told.set()
        return None

    async def _disown(self, record: OperationRecord) -> None:
        """A command that was refused may stand in the coordinator, or come to: see to
        it that its record says that it failed."""
        refused = self._over(record, code="coordinator_away", message=AWAY)

        async def write() -> None:
            noted = await self._log.begin(refused)
            if noted.ours and noted.record.state == "running":
                await self._log.complete(noted, refused)

        await self._until_written(write)

    async def _leave(self, left: Noted) -> None:
        """The same of one that was to go on here: its record says what it said."""

        async def write() -> None:
            noted = await self._log.take_up(left, left.record)
            mine = (noted.record.node, noted.record.boot) == (self._node, self._boot)
            if mine and noted.record.state == "running":
                await self._log.complete(noted, left.record)

        await self._until_written(write)

    async def _perform(self, running: _Running, verb: Verb, noted: Noted) -> None:
        record, outcome, code, message = noted.record, {}, "", ""
        try:
            with running.scope:
                outcome = _as_json(await verb.run(running.command))
            if running.scope.cancelled_caught:
                code, message = "stopping", "The node stopped before it was done."
        except CommandElsewhere as error:
            running.elsewhere = error.node
            await self._move_on(running, noted)
            return
        except CommandFailed as error:
            code, message = error.code, error.message
        except Exception as error:
            log.exception("operator_command_broken", id=record.id, verb=verb.name)
            code = "internal_error"
            message = f"{type(error).__name__} at {self._node}: its log says more."
        running.ended = ended = self._over(record, outcome, code, message)
        self._remember(ended)
        kept = replace(ended, outcome=_for_the_record(outcome, verb.secret))
        _log_command(kept)
        await self._until_written(lambda: self._log.complete(noted, kept), running)

    async def _move_on(self, running: _Running, noted: Noted) -> None:
        """It is another node's: nothing of it is on record here, or what was done."""
        did = running.command.did
        if not did:
            await self._until_written(lambda: self._log.withdraw(noted), running)
            return
        text = f"It is for another node to go on with. {did}"
        left = self._over(noted.record, {"did": did}, MOVED_ON, text)
        _log_command(left)
        await self._until_written(lambda: self._log.complete(noted, left), running)

    async def _until_written(
        self, write: Callable[[], Awaitable[None]], running: _Running | None = None
    ) -> None:
        """Who asks waits for one try only. Not longer than the node lives."""
        while True:
            try:
                await write()
            except CoordinatorUnavailable as error:
                log.warning("operation_unrecorded", error=str(error))
            except ControlRecordInvalid as error:
                log.error("operation_record_invalid", error=str(error))
                return
            else:
                return
            finally:
                if running is not None:
                    running.told.set()
            if self._tasks is None:
                return
            await anyio.sleep(RETRY_S)

    def _over(
        self,
        record: OperationRecord,
        outcome: Mapping[str, Any] | None = None,
        code: str = "",
        message: str = "",
    ) -> OperationRecord:
        return replace(
            record,
            state="failed" if code else "done",
            code=code,
            message=message[:MESSAGE_MAX],
            outcome=dict(outcome or {}),
            ended_ms=self._now_ms(),
        )

    def _remember(self, ended: OperationRecord) -> None:
        if ended.state == "done":
            self._done += 1
        else:
            self._failed += 1
        while len(self._remembered) >= REMEMBERED_MAX:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[ended.id] = ended

    async def _seen(self, running: _Running) -> dict[str, Any]:
        """A command that is, or was, carried out here."""
        if running.ended is not None and running.told.is_set():
            return await self._shown(running.ended)
        progress = running.command.progress
        return {"operation": row_json(operation_row(running.begun, progress=progress))}

    async def _shown(self, record: OperationRecord) -> dict[str, Any]:
        boots = None
        if record.state == "running":
            with _faults_told():
                boots = await self._log.boots()
        return {"operation": row_json(operation_row(record, boots))}


_TOLD = ("id", "who", "why", "verb", "target", "args")
_SAME = ("verb", "target", "args")


def _goes_on(asked: OperationRecord, found: OperationRecord) -> bool:
    """Whether a node has done a part of this command, and left the rest."""
    same = all(getattr(asked, name) == getattr(found, name) for name in _SAME)
    return same and found.state == "failed" and found.code == MOVED_ON


def _check_same(
    asked: CommandRequest | OperationRecord, record: OperationRecord
) -> None:
    """
    Raises:
        DoorError: id_reused: another command has this id.
    """
    for name in _SAME:
        if getattr(asked, name) != getattr(record, name):
            raise DoorError("id_reused", f"Another command has the id {record.id}.")


def _as_json(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """As it is after a trip through JSON."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(outcome))
    return found


def _for_the_record(
    outcome: Mapping[str, Any], secret: frozenset[str]
) -> dict[str, Any]:
    kept = {name: value for name, value in outcome.items() if name not in secret}
    size = len(msgspec.json.encode(kept))
    return kept if size <= OUTCOME_BYTES_MAX else {"left_out_bytes": size}


def _log_command(record: OperationRecord) -> None:
    log.info(
        "operator_command",
        id=record.id,
        who=record.who,
        why=record.why,
        verb=record.verb,
        target=record.target,
        state=record.state,
        code=record.code,
    )


@contextmanager
def _faults_told() -> Iterator[None]:
    """
    Raises:
        DoorError: What the coordinator's error is, as a no.
    """
    try:
        yield
    except CoordinatorUnavailable as error:
        raise DoorError(
            "coordinator_away", f"The coordinator does not answer: {error}"
        ) from error
    except ControlRecordInvalid as error:
        raise DoorError(error.code, str(error)) from error
