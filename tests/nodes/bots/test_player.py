"""A bot at a seat: it plays like anybody, and nothing that it does hurts others."""

from __future__ import annotations

import anyio
import pytest

from hotseat.engine.definition import define_game, event, state, timeout, transition
from hotseat.engine.games.rock_paper_scissors import game as rock_paper_scissors
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.bots.decision import Answer, Ask
from hotseat.nodes.bots.player import BotCounts, HowItEnded, PlayerOptions
from hotseat.nodes.bots.pool import UndecidedError
from hotseat.nodes.client import Accepted, Refusal

from .stage import Brain, first_legal, seen, stage, until


async def test_two_bots_play_a_match(autojump_clock: object) -> None:
    """Each acts when it is its turn; at the end both are done."""
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        endings: list[HowItEnded] = []

        async def play(seat: str) -> None:
            endings.append(await here.bot(match, seat).play())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, "0")
            tasks.start_soon(play, "1")
        assert endings == [HowItEnded.ENDED] * 2
        assert here.counts.moves == len(here.brain.asked) == 7
        assert (here.counts.stale, here.counts.refused, here.counts.failed) == (0, 0, 0)


async def test_who_choose_at_once(autojump_clock: object) -> None:
    """Another's choice does not make the bot's stale, nor does it wait for it."""
    async with stage([rock_paper_scissors]) as here:
        match = await here.create(rock_paper_scissors)
        human = await here.sit(match, "0")
        here.brain.hold()
        here.tasks.start_soon(here.bot(match, "1").play)
        await here.brain.asked_again(1)
        await human.dispatch("choose", {"hand": "paper"})
        here.brain.free.set()
        view = await seen(human, lambda view: bool(view.view["rounds"]))
        assert view.view["rounds"][0]["choices"] == {"0": "paper", "1": "rock"}
        assert here.counts.stale == 0


async def test_b13_a_bot_that_thought_too_long(autojump_clock: object) -> None:
    """It thinks about a board; the human takes the move back meanwhile, and makes
    another: what was thought is dropped, and the bot is asked about the board that is.
    """
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        human = await here.sit(match, "0")
        here.brain.hold()
        here.tasks.start_soon(here.bot(match, "1").play)
        await human.dispatch("place", {"cell": 4})
        first = await here.brain.asked_again(1)
        assert first.view["board"][4] == "X"
        assert isinstance(await human.ask_undo(), Accepted)
        await seen(human, lambda view: view.view["board"][4] is None)
        await human.dispatch("place", {"cell": 0})
        await seen(human, lambda view: view.view["board"][0] == "X")
        here.brain.free.set()
        second = await here.brain.asked_again(2)
        assert second.view["board"][0] == "X"
        assert second.revision > first.revision
        view = await seen(human, lambda view: "O" in view.view["board"])
        assert view.view["board"] == ["X", "O", *[None] * 7]
        await until(lambda: here.counts.moves == 1)
        assert (here.counts.stale, here.counts.refused) == (1, 0)


async def test_b13_a_deadline_that_passed_meanwhile(autojump_clock: object) -> None:
    """A move for a turn that has passed is not made in the next one."""
    game = define_game(
        name="hurry",
        max_players=2,
        events={"go": event(int, public=True)},
        initial="turn",
        setup=lambda ctx: {"left": 3, "said": []},
        states={
            "turn": state(active_players=["1"], deadline=lambda ctx: ctx.now + 400),
            "over": state(active_players=[]),
        },
        transitions=[
            transition(
                "go",
                "turn",
                "over",
                lambda ctx: {
                    "G": {**ctx.G, "said": [ctx.event.payload]},
                    "result": "done",
                },
            ),
            timeout("turn", "turn", lambda ctx: {"G": {**ctx.G, "left": 9}}),
        ],
        legal_actions=lambda ctx, seat: [("go", ctx.G["left"])],
        open_information=True,
    )
    async with stage([game]) as here:
        match = await here.create(game)
        human = await here.sit(match, "0")
        here.brain.hold()
        options = PlayerOptions(seed="s", limit_s=60.0)
        here.tasks.start_soon(here.bot(match, "1", options=options).play)
        first = await here.brain.asked_again(1)
        assert first.limit_s < 0.4  # it is told to be done before the deadline
        await seen(human, lambda view: view.view["left"] == 9)
        here.brain.free.set()
        async for view in human.views():
            last = view
        assert last.view["said"] == [9]
        assert here.counts.stale == 1


@pytest.mark.parametrize("code", ["bot_raised", "too_slow"])
async def test_a_bot_that_fails_is_played_at_random(
    autojump_clock: object, code: str
) -> None:
    """It is asked again, then a legal action is chosen; the match goes on."""

    def fail(ask: Ask) -> Answer:
        raise UndecidedError(code, "no")

    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        here.brain.think = fail
        here.tasks.start_soon(here.bot(match, "0").play)
        human = await here.sit(match, "1")
        view = await seen(human, lambda view: view.my_turn)
        assert view.view["board"].count("X") == 1
        assert len(here.brain.asked) == here.counts.failed == 2
        assert len({ask.seed for ask in here.brain.asked}) == 2
        await until(lambda: (here.counts.moves, here.counts.random_moves) == (1, 1))


@pytest.mark.parametrize(
    "answer",
    [
        Answer("place", {"cell": 99}),
        Answer("place", {"cell": 4}),  # taken
        Answer("nothing"),
        Answer("place", "x" * 100_000),
    ],
)
async def test_an_illegal_answer_changes_nothing(
    autojump_clock: object, answer: Answer
) -> None:
    """It is refused, and after a few tries a legal action is chosen at random."""
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        human = await here.sit(match, "0")
        here.brain.think = lambda ask: answer
        here.tasks.start_soon(here.bot(match, "1").play)
        await human.dispatch("place", {"cell": 4})
        view = await seen(human, lambda view: "O" in view.view["board"])
        assert view.view["board"][4] == "X"
        await until(lambda: here.counts.random_moves == 1)
        assert here.counts.refused == 2


async def test_a_bot_without_a_legal_action_waits(autojump_clock: object) -> None:
    """Where a game lists none, a bot that has no idea waits for what comes."""

    def clueless(ask: Ask) -> Answer:
        raise UndecidedError("cannot_decide", "no legal action")

    game = define_game(
        name="mute",
        max_players=2,
        events={"go": event()},
        initial="on",
        setup=lambda ctx: {"n": 0},
        states={"on": state(active_players=["0", "1"])},
        transitions=[
            transition("go", "on", "on", lambda ctx: {"G": {"n": ctx.G["n"] + 1}})
        ],
        open_information=True,
    )
    async with stage([game]) as here:
        match = await here.create(game)
        human = await here.sit(match, "0")
        here.brain.think = clueless
        here.tasks.start_soon(here.bot(match, "1").play)
        await here.brain.asked_again(2)
        here.brain.think = lambda ask: Answer("go")
        await human.dispatch("go")
        assert (await seen(human, lambda view: view.view["n"] > 1)).view["n"] >= 2


async def test_a_newer_session_has_the_seat(autojump_clock: object) -> None:
    """Of two processes the one that came last plays; the other waits, and takes over
    when a turn has stood still."""
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        human = await here.sit(match, "0")
        first, second = BotCounts(), BotCounts()
        here.tasks.start_soon(here.bot(match, "1", counts=first).play)
        await human.dispatch("place", {"cell": 8})
        await seen(human, lambda view: view.my_turn and view.revision == 2)
        with anyio.CancelScope() as life:
            async with anyio.create_task_group() as tasks:
                brain = Brain()
                tasks.start_soon(here.bot(match, "1", counts=second, brain=brain).play)
                await until(lambda: second.taken == 1)
                await human.dispatch("place", {"cell": 1})
                await seen(human, lambda view: view.my_turn and view.revision == 4)
                await until(lambda: (first.moves, second.moves) == (1, 1))
                await anyio.sleep(30.0)  # nobody's turn stands: nothing happens
                assert (first.taken, second.taken) == (1, 1)
                brain.hold()
                await human.dispatch("place", {"cell": 5})
                await brain.asked_again(2)
                life.cancel()  # it dies while it thinks
        began = anyio.current_time()
        await seen(human, lambda view: view.my_turn and view.revision == 6)
        assert 9.0 < anyio.current_time() - began < 12.0
        await until(lambda: (first.moves, first.replaced) == (2, 1))


async def test_a_spare_leaves_a_match_alone_that_goes_on(
    autojump_clock: object,
) -> None:
    """It takes no seat while others play it in time, and ends with the match."""
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        spare = BotCounts()
        endings: list[HowItEnded] = []

        async def wait() -> None:
            player = here.bot(match, "1", spare=True, counts=spare)
            endings.append(await player.play())

        here.tasks.start_soon(here.bot(match, "0").play)
        here.tasks.start_soon(here.bot(match, "1").play)
        await wait()
        assert endings == [HowItEnded.ENDED]
        assert spare.moves == 0


async def test_a_seat_with_another_secret_is_left(autojump_clock: object) -> None:
    """Who took the seat in their own name keeps it."""
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        human = await here.sit(match, "0")
        assert await here.bot(match, "0").play() is HowItEnded.TAKEN
        outcome = await human.dispatch("place", {"cell": 0})
        assert not isinstance(outcome, Refusal)
        lost = here.human.join("m" * 26, 1)
        assert await here.bot(lost, "0").play() is HowItEnded.LOST


async def test_leave_is_given_at_once(autojump_clock: object) -> None:
    """Whoever asks to take back need not wait for the bot to have thought."""
    async with stage([tic_tac_toe]) as here:
        match = await here.create(tic_tac_toe)
        human = await here.sit(match, "0")
        here.tasks.start_soon(here.bot(match, "1").play)
        await human.dispatch("place", {"cell": 4})
        await seen(human, lambda view: view.my_turn and view.revision == 2)
        here.brain.think = first_legal
        assert isinstance(await human.ask_undo(0), Accepted)
        view = await seen(human, lambda view: view.view["board"] == [None] * 9)
        assert view.my_turn
