"""Any order of actions, commits, answers and updates: what a page is told holds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from hotseat.nodes.client import Accepted
from hotseat.nodes.client.view import view_of
from hotseat.nodes.gateway.conversation import Conversation, Dispatch, Look
from hotseat.nodes.gateway.messages import Action, Sync

from .patches import made_whole
from .test_conversation import NO, step, update


class Talk(RuleBasedStateMachine):
    """A page at seat "0", a match, and a network that delays.

    A model of the page applies what it is told, as a real one would: a snapshot as it
    is, a batch only if its steps follow on what it has.
    """

    patches = False

    def __init__(self) -> None:
        super().__init__()
        extended = self.patches
        self.told = Conversation("m", "0", extended=extended, patches=self.patches)
        self.log: list[dict[str, Any]] = []  # every step that was committed
        self.shown = -1  # the page's revision
        self.number = 0
        self.asked: dict[int, str] = {}  # dispatched, not yet judged
        self.answers: list[tuple[int, Accepted | None]] = []  # on their way
        self.seen = 0  # the newest revision that an update has brought
        self.looks = 0
        self.acknowledged: list[str] = []
        self.rejected: list[str] = []
        self.accepted: list[str] = []
        self.refused: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.told.updated(update(0))

    @rule()
    def act(self) -> None:
        """The page acts."""
        self.number += 1
        id = str(self.number)
        command = self.told.hear(Action("m", "0", "go", id))
        if isinstance(command, Dispatch):
            self.asked[command.number] = id
        else:
            self.refused.append(id)

    @precondition(lambda self: self.asked)
    @rule(ok=st.booleans(), more=st.integers(0, 2))
    def judge(self, ok: bool, more: int) -> None:
        """The node judges the oldest action; its answer is on its way."""
        number = min(self.asked)
        id = self.asked.pop(number)
        if not ok:
            self.refused.append(id)
            self.answers.append((number, None))
            return
        self.accepted.append(id)
        self._commit("0", more)
        self.answers.append((number, Accepted(number, len(self.log), 0)))

    @rule(more=st.integers(0, 2))
    def other(self, more: int) -> None:
        """Another seat's action is committed."""
        self._commit("1", more)

    @precondition(lambda self: self.answers)
    @rule()
    def answer(self) -> None:
        """The oldest answer arrives."""
        number, outcome = self.answers.pop(0)
        self.told.answered(number, NO if outcome is None else outcome)

    @precondition(lambda self: self.told.takes_update and self.seen < len(self.log))
    @rule(gap=st.booleans())
    def bring(self, gap: bool) -> None:
        """An update brings all that was committed since the last; or the view alone."""
        steps = [] if gap else self.log[self.seen :]
        self.seen = len(self.log)
        self.told.updated(update(self.seen, *steps))

    @rule()
    def look(self) -> None:
        """The page asks how matters stand, and is answered at once."""
        assert self.told.hear(Sync("m", "0")) == Look()
        self.told.looked(view_of(update(len(self.log))._update))

    @rule()
    def read(self) -> None:
        """The page takes what waits for it."""
        while (data := self.told.next_to_send()) is not None:
            self._take(json.loads(data))

    @invariant()
    def nothing_is_told_that_is_not_so(self) -> None:
        assert set(self.acknowledged) <= set(self.accepted)
        assert set(self.rejected) <= set(self.refused)
        assert len(set(self.acknowledged)) == len(self.acknowledged)
        assert self.shown <= len(self.log)

    def teardown(self) -> None:
        """Once all has arrived, everything was told, and once."""
        while self.asked:
            self.judge(ok=True, more=0)
        while self.answers:
            self.answer()
        self.read()
        if self.seen < len(self.log):
            assert self.told.takes_update
            self.bring(gap=False)
        self.read()
        assert self.shown == len(self.log)
        assert sorted(self.acknowledged) == sorted(self.accepted)
        assert sorted(self.rejected) == sorted(self.refused)

    def _commit(self, actor: str, more: int) -> None:
        self.log.append(step(len(self.log) + 1, actor))
        for _ in range(more):
            self.log.append(step(len(self.log) + 1, None, "internal"))

    def _take(self, said: dict[str, Any]) -> None:
        if said.get("type") == "action_rejected":
            self.rejected.append(said["clientActionID"])
            return
        assert said["revision"] >= self.shown, "a page never goes back"
        if "type" not in said:
            assert said["G"] == {"n": said["revision"]}
            self.shown = said["revision"]
            return
        revisions = [part["snapshot"]["revision"] for part in said["steps"]]
        wanted = list(range(self.shown + 1, said["revision"] + 1))
        assert revisions == wanted, "each step once, in order"
        assert said["snapshot"]["G"] == {"n": said["revision"]}
        self.shown = said["revision"]
        if revisions and said["steps"][0]["event"]["playerID"] == "0":
            assert "ackClientActionID" in said, "a batch says what it answers"
        if "ackClientActionID" in said:
            self.acknowledged.append(said["ackClientActionID"])


class TalkInPatches(Talk):
    """A page that asked for patches: it has from them what it would have been told."""

    patches = True

    def __init__(self) -> None:
        super().__init__()
        self.holds: Any = None

    def _take(self, said: dict[str, Any]) -> None:
        if said.get("type") == "batch_patched":
            said, self.holds = made_whole(said, self.holds)
        elif said.get("type") != "action_rejected":
            self.holds = said.get("snapshot", said)
        super()._take(said)


TestTalkInPatches = TalkInPatches.TestCase
TestTalkInPatches.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None
)
TestTalk = Talk.TestCase
TestTalk.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
