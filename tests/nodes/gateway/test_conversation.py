"""A conversation without any I/O: whatever order answers and updates come in."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from hotseat.nodes.client import Accepted, KeptUpdate, Refusal
from hotseat.nodes.client.view import view_of
from hotseat.nodes.gateway.conversation import (
    ACTIONS_WAITING_MAX,
    UNSENT_MAX,
    Conversation,
    Dispatch,
    Look,
)
from hotseat.nodes.gateway.hosted import REJECTIONS, rejection
from hotseat.nodes.gateway.messages import Action, Sync
from hotseat.runtime.codec import pack
from hotseat.runtime.frame import ViewUpdate

NO = Refusal("invalid_event", "No.")


def step(revision: int, actor: str | None, kind: str = "action") -> dict[str, Any]:
    return {
        "revision": revision,
        "kind": kind,
        "state": "play",
        "turn": revision,
        "active_players": ["0"],
        "deadline": None,
        "result": None,
        "source_path": ["play"],
        "told": {
            "event": {
                "action_id": f"a{revision}",
                "at": 0,
                "event": "go",
                "player_id": actor,
                "turn": revision,
                "type": kind,
            },
            "transition": {
                "event": "go",
                "source": "play",
                "target": "play",
                "turn": "preserve",
                "enqueued": [],
            },
        },
        "view": {"n": revision},
        "shown": {"path": ["play"], "pending_targets": ["play"]},
    }


def update(revision: int, *steps: dict[str, Any], history: int = 0) -> KeptUpdate:
    return KeptUpdate(
        ViewUpdate(
            request=0,
            match="m",
            epoch=1,
            seat="0",
            revision=revision,
            turn=revision,
            state="play",
            active_players=("0",),
            deadline_ms=None,
            ended=False,
            view=msgspec.Raw(pack({"n": revision})),
            steps=msgspec.Raw(pack([*steps])),
            shown=msgspec.Raw(pack({"path": ["play"], "pending_targets": []})),
            history=history,
        )
    )


def act(told: Conversation, id: str) -> int:
    command = told.hear(Action("m", "0", "go", id))
    assert isinstance(command, Dispatch)
    return command.number


def sent(told: Conversation) -> list[tuple[str, int, str | None]]:
    """Each message: its type, its revision, what it acknowledges or rejects."""
    messages = []
    while (data := told.next_to_send()) is not None:
        said = json.loads(data)
        of = said.get("ackClientActionID", said.get("clientActionID"))
        messages.append((said.get("type", "snapshot"), said.get("revision", -1), of))
    return messages


def begun() -> Conversation:
    told = Conversation("m", "0")
    told.updated(update(0))
    assert sent(told) == [("snapshot", 0, None)]
    return told


@pytest.mark.parametrize("answer_first", [True, False])
def test_a_batch_says_which_action_it_answers(answer_first: bool) -> None:
    """Whether the answer or the view comes first, the page hears one thing."""
    told = begun()
    number = act(told, "x")
    if answer_first:
        told.answered(number, Accepted(number, 1, 1))
        assert sent(told) == []
        told.updated(update(1, step(1, "0")))
    else:
        told.updated(update(1, step(1, "0")))
        assert sent(told) == []
        assert not told.takes_update
        told.answered(number, Accepted(number, 1, 1))
    assert sent(told) == [("batch_applied", 1, "x")]
    assert told.takes_update


def test_several_actions_in_one_update_are_told_one_by_one() -> None:
    """An update that covers many actions becomes a batch for each, acknowledged."""
    told = begun()
    numbers = [act(told, id) for id in "xyz"]
    told.updated(
        update(
            4,
            step(1, "0"),
            step(2, None, "internal"),
            step(3, "1"),
            step(4, "0"),
        )
    )
    assert sent(told) == []
    told.answered(numbers[0], Accepted(1, 2, 1))
    assert sent(told) == [("batch_applied", 2, "x"), ("batch_applied", 3, None)]
    told.answered(numbers[1], NO)
    told.answered(numbers[2], Accepted(3, 4, 3))
    assert sent(told) == [("action_rejected", 3, "y"), ("batch_applied", 4, "z")]


def test_what_a_snapshot_jumps_over_is_acknowledged() -> None:
    """Without the steps in between, the state comes whole, then the answer."""
    told = begun()
    number = act(told, "x")
    told.answered(number, Accepted(number, 2, 2))
    told.updated(update(5, step(5, "1")))
    assert sent(told) == [("snapshot", 5, None), ("batch_applied", 5, "x")]


@pytest.mark.parametrize("kind", ["takeback", "edit", "upgrade", "terminate"])
def test_what_the_protocol_has_no_words_for_is_a_snapshot(kind: str) -> None:
    """Moves taken back and operators' doings show as the state that they made."""
    told = begun()
    told.updated(update(2, step(1, "1"), step(2, "1", kind)))
    assert sent(told) == [("snapshot", 2, None)]


def test_what_a_game_redacts_to_nothing_is_a_snapshot() -> None:
    """A step of which a game tells something else is not told as a step."""
    told = begun()
    odd = {**step(1, "1"), "told": "somebody did something"}
    told.updated(update(1, odd))
    assert sent(told) == [("snapshot", 1, None)]


def test_revisions_only_rise() -> None:
    """A look that was overtaken by a newer update shows the newer one."""
    told = begun()
    assert told.hear(Sync("m", "0")) == Look()
    older = view_of(update(1)._update)
    told.updated(update(2, step(1, "1"), step(2, "1")))
    told.looked(older)
    assert [revision for _, revision, _ in sent(told)] == [1, 2, 2]


def test_a_look_may_overtake_an_update_that_waits_for_its_answer() -> None:
    """What is acknowledged then is the newer state, not the one that waited."""
    told = begun()
    number = act(told, "x")
    told.updated(update(1, step(1, "0")))
    told.looked(view_of(update(2)._update))
    told.answered(number, Accepted(number, 1, 1))
    assert sent(told) == [("snapshot", 2, None), ("batch_applied", 2, "x")]


def test_one_who_does_not_read_is_not_read_from() -> None:
    """What waits to be sent is bounded by what is heard."""
    told = begun()
    for number in range(ACTIONS_WAITING_MAX):
        act(told, f"x{number}")
    heard = 0
    while not told.full:
        assert told.hear(Action("m", "0", "go", f"y{heard}")) is None
        heard += 1
    assert heard == UNSENT_MAX
    assert {kind for kind, _, _ in sent(told)} == {"action_rejected"}


def test_every_code_is_one_that_a_page_knows() -> None:
    """Our own codes go beside the nearest one of the protocol's."""
    for code in ("busy", "no_owner", "expired_key", "too_large", "stale_revision"):
        said = rejection("m", "x", "go", Refusal(code, "Why."), 3)
        assert said["error"] in REJECTIONS
        assert said.get("detail", {"code": code})["code"] == code


def test_a_page_is_told_all_of_a_match_that_lost_something() -> None:
    """Once, though it is at a lower revision; then it goes on from there."""
    told = Conversation("m", "0", since=4)
    told.updated(update(5, step(5, "1")))
    told.updated(update(2, step(2, "1"), history=17))
    told.updated(update(3, step(3, "1"), history=17))
    kinds = [(kind, revision) for kind, revision, _ in sent(told)]
    assert [revision for _, revision in kinds] == [5, 2, 3]
    assert kinds[0][0] == kinds[2][0] != kinds[1][0]
    told.looked(view_of(update(1, history=30)._update))
    assert [revision for _, revision, _ in sent(told)] == [1]
