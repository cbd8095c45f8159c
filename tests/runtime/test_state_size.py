"""How large a match's state may become; to know it costs nothing per action."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from hotseat.engine.definition import Game, define_game, state, timeout, transition
from hotseat.engine.digest import canonical_bytes, whole_state
from hotseat.engine.limits import FULL_DIGEST_EVERY, G_BYTES_HARD_MAX, G_BYTES_MAX
from hotseat.engine.machine import compile_game
from hotseat.runtime import match_state
from hotseat.runtime.command import Act, Applied, Denied, FireDeadline, NotFired
from hotseat.runtime.command import TakeSeat as Take
from hotseat.runtime.errors import StateTooLarge
from hotseat.runtime.match import create_match, decide, replay_match
from hotseat.runtime.match_change import Change
from hotseat.runtime.match_state import MEASURED_EVERY_BYTES, MatchState

from .hosting import ALICE, dispatch
from .sample_games import PLAYERS
from .test_actor import Stage

KIB = 1024
CHUNK = "x" * 256 * KIB


def growing(setup: Any = None, *, lapse: Any = None) -> Game:
    """`put` sets parts of G from its payload (name -> value, or a size in chunks of
    256 KiB); `end` ends the match with a result of as many chunks."""

    def put(ctx: Any) -> Any:
        parts = ctx.event.payload
        new = {
            name: CHUNK * value if type(value) is int else value
            for name, value in parts.items()
        }
        left = {k: v for k, v in ctx.G.items() if k not in parts}
        return {"G": {**left, **{k: v for k, v in new.items() if v is not None}}}

    timeouts = [] if lapse is None else [timeout("play", "play", lapse)]
    return define_game(
        name="growing",
        max_players=2,
        events=["put", "end"],
        initial="play",
        setup=lambda ctx: {} if setup is None else setup,
        states={
            "play": state(
                active_players=["0"],
                deadline=None if lapse is None else lambda ctx: ctx.now + 1_000,
            )
        },
        transitions=[
            transition("put", "play", "play", put),
            transition(
                "end", "play", "play", lambda ctx: {"result": CHUNK * ctx.event.payload}
            ),
            *timeouts,
        ],
        open_information=True,
    )


class Played:
    """A match and its log, as its owner plays it."""

    def __init__(self, game: Game) -> None:
        self.machine = compile_game(game)
        self.changes: list[Change] = [
            create_match(
                self.machine,
                match="m",
                epoch=1,
                creation="c",
                match_input=PLAYERS,
                seed="s",
                now_ms=0,
            )
        ]
        decision = decide(self.state, Take("0", "t" * 16), 0)
        assert decision.change is not None
        self.changes.append(decision.change)
        self.actions = 0

    @property
    def state(self) -> MatchState:
        return self.changes[-1].state

    @property
    def size(self) -> int:
        """What the state really is, packed."""
        return len(canonical_bytes(whole_state(self.state.snapshot)))

    def act(self, event: str, payload: Any) -> Applied | Denied:
        self.actions += 1
        decision = decide(self.state, Act("0", 1, self.actions, event, payload), 0)
        if decision.change is not None:
            self.changes.append(decision.change)
        assert isinstance(decision.answer, Applied | Denied)
        return decision.answer

    def put(self, **parts: Any) -> str:
        """Set parts of G; the code of the refusal, or ""."""
        answer = self.act("put", parts)
        return answer.refusal.code if isinstance(answer, Denied) else ""


def count_measures(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that are found by packing a whole state, as they are found."""
    found: list[int] = []

    def counted(value: object) -> bytes:
        packed = canonical_bytes(value)
        found.append(len(packed))
        return packed

    monkeypatch.setattr(match_state, "canonical_bytes", counted)
    return found


def test_a_state_may_grow_to_the_hard_limit_and_not_beyond() -> None:
    """The action that would is refused and changes nothing; smaller ones go on."""
    played = Played(growing())
    names = [f"part{number}" for number in range(20)]
    answers = [played.put(**{name: 1}) for name in names]
    assert answers == [""] * 15 + ["too_large"] * 5
    assert played.size <= G_BYTES_HARD_MAX
    assert played.put(part0=None, part1=None) == ""
    assert played.put(part15=1) == ""
    assert played.put(part16=3) == "too_large"


def test_one_step_beyond_the_hard_limit_is_refused() -> None:
    """However small the state was."""
    played = Played(growing())
    assert played.put(all=16) == "too_large"
    assert played.put(all=15) == ""


def test_a_result_counts_as_well() -> None:
    """It is kept and sent as the state is."""
    played = Played(growing())
    answer = played.act("end", 17)
    assert isinstance(answer, Denied)
    assert answer.refusal.code == "too_large"
    assert "4,194,304" in answer.refusal.message
    assert isinstance(played.act("end", 1), Applied)


def test_a_deadline_that_would_make_it_too_large_does_not_fire() -> None:
    """As with any failure of a timeout."""
    played = Played(growing(lapse=lambda ctx: {"G": {"all": CHUNK * 17}}))
    decision = decide(played.state, FireDeadline(0), 1_000)
    assert isinstance(decision.answer, NotFired)
    assert decision.answer.refusal is not None
    assert decision.answer.refusal.code == "too_large"
    assert decision.change is None


def test_a_match_that_begins_too_large_is_not_created() -> None:
    """What `setup` makes is a state like any other."""
    with pytest.raises(StateTooLarge, match="the limit is"):
        Played(growing({"all": CHUNK * 17}))


def test_growth_by_small_steps_is_noticed_in_time() -> None:
    """The state is at no time larger than the hard limit and the measuring pace."""
    played = Played(growing({f"part{n}": CHUNK for n in range(15)}))
    refused = 0
    for number in range(60):
        if played.put(**{f"small{number}": "y" * 16 * KIB}) == "too_large":
            refused += 1
        assert played.size <= G_BYTES_HARD_MAX + MEASURED_EVERY_BYTES
    assert refused > 40


def test_a_small_state_is_never_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the match: each record that covers all of it bounds it anew."""
    found = count_measures(monkeypatch)
    played = Played(growing())
    for number in range(3 * FULL_DIGEST_EVERY):
        assert played.put(n=f"{number}", text="z" * KIB) == ""
    assert found == []
    assert played.state.bytes_at_most < G_BYTES_MAX


def test_a_large_state_is_measured_per_byte_that_is_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not per action: many small ones lie between two measures."""
    played = Played(growing({f"part{n}": CHUNK for n in range(8)}))
    found = count_measures(monkeypatch)
    for number in range(500):
        assert played.put(n=f"{number}") == ""
    assert len(found) <= 500 * 400 // MEASURED_EVERY_BYTES + 1 + 500 // 256


def test_whoever_replays_the_log_knows_the_same() -> None:
    """The bound follows from the records alone; the owner's no left no trace."""
    played = Played(growing())
    for size in (1, 2, 17, 3, 5):
        played.put(**{f"part{size}": size})
    played.put(part1=None)
    records = [change.record for change in played.changes]
    assert len(records) == 7
    assert replay_match(played.machine, records) == played.state


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abcdef"),
            st.none()
            | st.text(max_size=40)
            | st.lists(st.booleans() | st.text(max_size=3), max_size=40)
            | st.dictionaries(
                st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False)
            ),
        ),
        max_size=12,
    )
)
def test_the_bound_is_never_below_the_size(steps: list[dict[str, Any]]) -> None:
    """Whatever the steps do to G: parts that come, go, grow, shrink, change kind."""
    played = Played(growing())
    for parts in steps:
        assert played.put(**parts) in ("", "non_serializable_args")
        assert played.state.bytes_at_most >= played.size


def test_a_large_state_is_logged_once() -> None:
    """And once more, if it was small in between."""
    stage = Stage(growing())

    def put(action: int, **parts: Any) -> list[Any]:
        with capture_logs() as logs:
            frame = dispatch(action, "m", "0", action, "put", parts)
            stage.tell((ALICE, frame))
        return [line for line in logs if line["event"] == "state_large"]

    assert put(1, a=3) == []
    [line] = put(2, b=3)
    assert line["match"] == "m"
    assert line["log_level"] == "warning"
    assert line["bytes"] > G_BYTES_MAX
    assert put(3, c=1) == []
    assert put(4, n="small") == []
