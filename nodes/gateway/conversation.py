"""One player's connection as a state machine: what is heard, and what is to be sent.

Pure: no socket, no clock of its own. The shell gives it messages, updates, and the
answers to actions; it says what to ask the cluster, and what to send, in order.

Rules:
- Who acts is the seat of the token; a message that names another is refused.
- Revisions only rise, and each step is told once. A view that the page cannot follow
  step by step is told whole.
- An action's batch says which action it answers. So a batch of the own seat waits for
  the answer of the action that caused it, which comes with the same commit.
- A page that asked for patches is told what changed since the snapshot that it was
  told last; all of it, where that is shorter.
- What is heard adds at most one message to what is to be sent: who does not read is
  not read from (`full`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ...engine.takeback import UndoVerb
from ..client import Accepted, KeptUpdate, Refusal, View
from .action_ids import ActionIds
from .hosted import Drawn, Message, acknowledgement, drawn, rejection, snapshot_of
from .messages import (
    Action,
    ClientMessage,
    Heartbeat,
    Resync,
    SaveRequest,
    Sync,
    TakeBack,
)

__all__ = [
    "ACTIONS_WAITING_MAX",
    "Command",
    "Conversation",
    "Dispatch",
    "Look",
    "Save",
    "Undo",
    "WrongSeat",
]

ACTIONS_WAITING_MAX = 16
"""Actions of one connection without an answer; one more is refused as `busy`."""

UNSENT_MAX = 32
"""Messages that may wait until the page takes them, before it is not read any more."""

_encode = msgspec.json.Encoder(order=None).encode


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Act for the seat, and tell `answered`."""

    number: int
    event: str
    payload: Any
    base_revision: int | None


@dataclass(frozen=True, slots=True)
class Undo:
    """Ask to take back, or answer who asked, for the seat; and tell `answered`.

    `revision` is the one to return to, or the request's.
    """

    number: int
    verb: UndoVerb
    revision: int | None
    base_revision: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """Ask how the match stands, and tell `looked`."""


@dataclass(frozen=True, slots=True)
class Save:
    """Make the match's replay, and tell `saved`."""

    request: str


Command = Dispatch | Undo | Look | Save


class WrongSeat(Exception):
    """A message asked to see another match or seat than the token's."""


class Conversation:
    """What one connection has said and was told. `player` "" is a spectator."""

    __slots__ = (
        "_accepted",
        "_base",
        "_held",
        "_history",
        "_ids",
        "_introduced",
        "_legal",
        "_newest",
        "_patches",
        "_seen",
        "_unsent",
        "_waiting",
        "batches",
        "extended",
        "match",
        "player",
        "rejected",
        "snapshots",
    )

    def __init__(
        self,
        match: str,
        player: str,
        *,
        next_action: int = 1,
        since: int = -1,
        extended: bool = False,
        legal: bool = False,
        patches: bool = False,
    ) -> None:
        """`since`: the revision that the page has; `extended`: it knows our own
        messages, and numbers its actions itself; `legal`: it wants legal actions;
        `patches`: it wants to be told what changed, where that is shorter."""
        self.match = match
        self.player = player
        self.extended = extended
        self.snapshots = self.batches = self.rejected = 0
        self._legal = legal and extended
        self._patches = patches and extended
        self._base: Message | None = None  # the snapshot that the page was told last
        self._ids = ActionIds(next_action, counted=extended)
        self._seen = since
        self._history = 0
        self._introduced: Any = None
        self._newest: View | None = None
        self._held: KeptUpdate | None = None
        # Actions without an answer, by number; and accepted ones that the page is not
        # told of yet, by revision.
        self._waiting: dict[int, Action | TakeBack] = {}
        self._accepted: dict[int, str] = {}
        self._unsent: list[bytes] = []  # few: a deque would be larger

    @property
    def full(self) -> bool:
        """Too much waits to be sent: nothing more should be heard."""
        return len(self._unsent) >= UNSENT_MAX

    @property
    def takes_update(self) -> bool:
        """Whether the next update may come."""
        return self._held is None and not self._unsent

    @property
    def ended(self) -> bool:
        return self._newest is not None and self._newest.ended

    def next_to_send(self) -> bytes | None:
        """The next message, in JSON."""
        return self._unsent.pop(0) if self._unsent else None

    def hear(self, message: ClientMessage) -> Command | None:
        """
        Raises:
            WrongSeat: It asks for what is not this seat's.
        """
        if isinstance(message, Action | TakeBack):
            return self._hear_action(message)
        if isinstance(message, Heartbeat):
            return None
        if message.matchID != self.match or message.playerID != self.player:
            raise WrongSeat
        if isinstance(message, SaveRequest):
            return Save(message.clientRequestID)
        assert isinstance(message, Sync | Resync)
        return Look()

    def refuse(self, message: ClientMessage, refusal: Refusal, wait_s: float) -> None:
        """Say no to an action that is not even looked at; else say nothing."""
        if isinstance(message, Action | TakeBack):
            self._reject(message, refusal, wait_s)

    def answered(self, number: int, outcome: Accepted | Refusal) -> None:
        """The action of that number was answered."""
        asked = self._waiting.pop(number)
        if isinstance(outcome, Refusal):
            self._reject(asked, outcome)
        else:
            self._accepted[outcome.revision] = asked.clientActionID
        self._go_on()
        self._catch_up()

    def updated(self, update: KeptUpdate) -> None:
        """A newer view came."""
        assert self._held is None, "the one before is not told yet"
        self._begin_anew(update.history)
        self._held = update
        self._go_on()

    def looked(self, view: View) -> None:
        """What `Look` asked for: told whole, whatever the page has."""
        self._begin_anew(view.history)
        if view.revision < self._seen:  # a newer one was sent since it was asked
            if self._newest is None or self._newest.revision < self._seen:
                return
            view = self._newest
        self._newest = view
        self._introduce(view)
        self._tell(Drawn(view.revision, self._whole(view)))
        self._go_on()
        self._catch_up()

    def saved(self, request: str, url: str | None, reason: str = "") -> None:
        """What came of `Save`: where it is, or why there is none."""
        said = {"matchID": self.match, "clientRequestID": request}
        if url is None:
            self.tell({"type": "save-error", **said, "reason": reason})
        else:
            ready = {"type": "save-ready", **said, "saveID": self.match}
            self.tell({**ready, "downloadURL": url})

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message as it is."""
        self._unsent.append(_encode(message))

    def _begin_anew(self, history: int) -> None:
        """The match goes on from an old copy, after a loss: what the page has seen may
        be gone, and it is told all of it."""
        if history > self._history:
            self._history = history
            self._seen = -1
            self._newest = None

    def _hear_action(self, action: Action | TakeBack) -> Dispatch | Undo | None:
        no: Refusal | None = None
        number = self._ids.number(action.clientActionID)
        if action.matchID != self.match:
            no = Refusal("unknown_match", "The token is for another match.")
        elif not self.player or action.playerID != self.player:
            no = Refusal("unauthorized", "The token is not for that seat.")
        elif number is None:
            text = "Actions are numbered: 1, 2, ... (see nextAction)."
            no = Refusal("malformed_request", text)
        elif number in self._waiting:
            return None  # said twice: it is answered once
        elif len(self._waiting) >= ACTIONS_WAITING_MAX:
            no = Refusal("busy", "Too many actions wait for an answer.")
        if no is not None or number is None:
            assert no is not None
            self._reject(action, no, 1.0 if no.code == "busy" else 0.0)
            return None
        self._waiting[number] = action
        if isinstance(action, TakeBack):
            return self._undo(number, action)
        return Dispatch(number, action.event, action.payload, action.baseRevision)

    def _undo(self, number: int, asked: TakeBack) -> Undo:
        """What goes by what the page sees is fixed here: repeats are the same."""
        if asked.verb == "ask":
            base = self._seen if asked.baseRevision is None else asked.baseRevision
            return Undo(number, "ask", asked.to, max(base, 0))
        request, newest = asked.request, self._newest
        if request is None and newest is not None and newest.undo is not None:
            request = newest.undo.revision
        return Undo(number, asked.verb, request or 0, None)

    def _go_on(self) -> None:
        """Tell what the held update says, as far as the answers allow."""
        update = self._held
        if update is None:
            return
        for next_one in self._drawn(update):
            own = self.player and next_one.actor == self.player
            if own and self._waiting and next_one.revision not in self._accepted:
                return  # until one of them is answered
            self._introduce(update.view)
            self._tell(next_one)
        self._held = None
        if self._newest is None or self._newest.revision < update.view.revision:
            self._newest = update.view
        self._catch_up()

    def _introduce(self, view: View) -> None:
        """Say which game it is and who plays, once; again after an upgrade."""
        said = (view.shown or {}).get("match")
        if self.extended and said is not None and said != self._introduced:
            self._introduced = said
            self.tell({"type": "match", "matchID": self.match, **said})

    def _drawn(self, update: KeptUpdate) -> list[Drawn]:
        """What the update says to this page. Spectators are all told the same."""
        key = (self._seen, self.player, self._legal)
        known: list[Drawn] | None = update.memo.get(key)
        if known is None:
            view = update.view
            known = drawn(view, self._seen, self.player)
            if known and self._legal:
                self._extend(known[-1].message, view)
            if not self.player:
                update.memo[key] = known
        return known

    def _tell(self, next_one: Drawn) -> None:
        message = next_one.message
        if "type" in message:
            self.batches += 1
            asked = self._accepted.pop(next_one.revision, None)
            if asked is not None:
                message = {**message, "ackClientActionID": asked}
        else:
            self.snapshots += 1
        self._seen = next_one.revision
        if message is not next_one.message:
            next_one = Drawn(next_one.revision, message)
        self._show(next_one)

    def _show(self, next_one: Drawn) -> None:
        """Send a message with a snapshot in it."""
        message = next_one.message
        if self._base is None or "type" not in message:
            self._unsent.append(next_one.json)
        else:
            self._unsent.append(next_one.json_after(self._base))
        if self._patches:
            self._base = message.get("snapshot", message)

    def _catch_up(self) -> None:
        """Acknowledge what was told without, as a part of a snapshot or long ago."""
        view = self._newest
        if view is None or self._held is not None:
            return
        for revision in sorted(self._accepted):
            if revision <= self._seen:
                self.batches += 1
                asked = self._accepted.pop(revision)
                said = acknowledgement(view, self.player, asked)
                if self._legal:
                    self._extend(said, view)
                self._show(Drawn(view.revision, said))

    def _reject(
        self, action: Action | TakeBack, refusal: Refusal, wait_s: float = 0.0
    ) -> None:
        self.rejected += 1
        message = rejection(
            self.match, action.clientActionID, action.event, refusal, self._seen
        )
        if wait_s and self.extended:
            message["retryAfterMs"] = int(wait_s * 1_000)
        self.tell(message)

    def _whole(self, view: View) -> dict[str, Any]:
        message = snapshot_of(view, self.player)
        if self._legal:
            self._extend(message, view)
        return message

    def _extend(self, message: dict[str, Any], view: View) -> None:
        """Add what a page of ours asked for to the newest snapshot in a message."""
        more: dict[str, Any] = {}
        if view.legal is not None:
            more["legalActions"] = [[event, payload] for event, payload in view.legal]
        if view.undo is not None:
            more["undo"] = {
                "revision": view.undo.revision,
                "playerID": view.undo.seat,
                "to": view.undo.to,
                "agreed": list(view.undo.agreed),
            }
        if "snapshot" in message:
            message["snapshot"] = {**message["snapshot"], **more}
        else:
            message.update(more)
