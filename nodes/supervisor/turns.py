"""Lets actors work: each in a task of its own, or all of them here.

An actor that takes actions has a task; one that rests has none, and works where it is
woken. What the actors of one wake-up caused is handed on together (`hand_on`): once all
of them have worked, not once for each.

Without tasks (`open` was not called) everything happens inside `work`, in the order
of the wakes: so a simulation drives it, event by event, without an async library.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from ...runtime.actor import MatchActor
from ...runtime.lifecycle import ActorState

__all__ = ["Turns"]


class Turns:
    """Whose turn it is to work."""

    def __init__(
        self,
        failed: Callable[[MatchActor, BaseException], None],
        rested: Callable[[MatchActor], None],
        hand_on: Callable[[], None],
    ) -> None:
        """`failed` is told what came out of an actor, `rested` each time that one has
        had its turn and does not run; `hand_on` takes what was caused on its way."""
        self._failed = failed
        self._rested = rested
        self._hand_on = hand_on
        self._tasks: TaskGroup | None = None
        self._in_task: set[MatchActor] = set()
        self._due: dict[MatchActor, None] = {}
        self._working = False
        self._wanted = False
        self._stirred: anyio.Event | None = None

    def open(self, tasks: TaskGroup) -> None:
        """Give each actor a task of this group from now on."""
        self._tasks = tasks
        tasks.start_soon(self._run, name="turns")

    def close(self) -> None:
        """No task is started any more."""
        self._tasks = None

    def begin(self, actor: MatchActor) -> None:
        """An actor takes actions from now on."""
        if self._tasks is not None and actor not in self._in_task:
            self._in_task.add(actor)
            self._tasks.start_soon(self._host, actor, name=f"match {actor.match}")

    def wake(self, actor: MatchActor) -> None:
        """Let the actor work soon; any number of calls before it does are one."""
        if actor in self._in_task:
            actor.stir()  # it says itself when it has worked
        else:
            self._due[actor] = None
            self.hand_on_soon()

    def work(self) -> None:
        """Let those work now that have no task, and hand on what they caused.

        What waits for those in tasks is handed on when they have worked.
        """
        self._work()
        if self._tasks is not None:
            self.hand_on_soon()

    def hand_on_soon(self) -> None:
        """Something was caused; or is, by those who have no task."""
        self._wanted = True
        if self._stirred is not None:
            self._stirred.set()

    def _work(self) -> None:
        if self._working:
            return  # it was called by what it does; the loop below goes on
        self._working = True
        try:
            while True:
                due, self._due = self._due, {}
                for actor in due:
                    self._turn(actor)
                if self._tasks is None:
                    self._hand_on()
                if not self._due:
                    break
        finally:
            self._working = False

    def _turn(self, actor: MatchActor) -> None:
        try:
            actor.work()
        except (Exception, SystemExit) as error:  # a game may call sys.exit()
            self._failed(actor, error)
        if actor.status is not ActorState.RUNNING:
            self._rested(actor)

    async def _host(self, actor: MatchActor) -> None:
        """The task of one actor: nothing that it raises gets any further."""
        try:
            await actor.run()
        except (Exception, SystemExit) as error:
            self._failed(actor, error)
        self._in_task.discard(actor)
        if len(actor.mailbox):
            self.wake(actor)  # it came while the task was ending
        self._rested(actor)
        self.hand_on_soon()

    async def _run(self) -> None:
        """Hand on, once after each wake-up."""
        while True:
            if not self._wanted:
                self._stirred = anyio.Event()
                await self._stirred.wait()
            # Those who were woken together work first, mostly; who works later says so,
            # and there is another round.
            self._wanted = False
            await checkpoint()
            self._work()
            self._hand_on()
