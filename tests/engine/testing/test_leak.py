"""The check of hidden information: it finds every kind of leak, and names it."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Game,
    create_session,
    define_game,
    enqueue,
    event,
    redact_step,
    reject,
    state,
    timeout,
    transition,
    views,
)
from hotseat.engine.games import pig_dice
from hotseat.engine.testing import (
    LeakFault,
    SecretAction,
    SecretStart,
    SecretState,
    assert_no_leak,
)

HIDE = SecretAction("0", "hide", 3, 7)
PLAYERS = {"players": ["0", "1"]}
GUESSES = 4


def is_opened(one: Any, other: Any) -> bool:
    """The vault opens by the rules, in the same moment of both worlds."""
    return bool(one.position.name == "over" and other.position.name == "over")


def hide(ctx: Any) -> Any:
    return {"G": {**ctx.G, "secret": ctx.event.payload}}


def guess(ctx: Any) -> Any:
    if ctx.G["secret"] is None:
        return reject("nothing_hidden")
    if ctx.event.payload > 9:
        return reject("too_high", {"most": 9})
    if len(ctx.G["guesses"]) + 1 == GUESSES:
        return None
    return {"G": {**ctx.G, "guesses": [*ctx.G["guesses"], ctx.event.payload]}}


def opens(ctx: Any) -> Any:
    if len(ctx.G["guesses"]) + 1 < GUESSES:
        return None
    right = ctx.G["secret"] in [*ctx.G["guesses"], ctx.event.payload]
    return {"result": {"winner": "1" if right else "0"}}


def public(ctx: Any) -> Any:
    return {"guesses": ctx.G["guesses"], "hidden": ctx.G["secret"] is not None}


def player(ctx: Any, seat: str) -> Any:
    mine = ctx.G["secret"] if seat == "0" else None
    return {**public(ctx), "mine": mine, "myPlayerID": seat}


def vault(**changed: Any) -> Game:
    """Seat 0 hides a number, seat 1 guesses a few times; then the vault is opened.

    `play` are parts of the state in which guesses are made, `guess` its resolver; the
    rest are parts of the game.
    """
    play = changed.pop("play", {})
    parts: dict[str, Any] = {
        "name": "vault",
        "max_players": 2,
        "events": {"hide": event(int), "guess": event(int), "note": event()},
        "initial": "hiding",
        "setup": lambda ctx: {"secret": None, "guesses": []},
        "states": {
            "hiding": state(active_players=["0"]),
            "play": state(active_players=["1"], **play),
            "over": state(active_players=[]),
        },
        "transitions": [
            transition("hide", "hiding", "play", changed.pop("hide", hide)),
            transition("guess", "play", "play", changed.pop("guess", guess)),
            transition("guess", "play", "over", opens),
            transition("note", "play", "play"),
            *changed.pop("more", []),
        ],
        "views": views(public=public, player=player),
        "legal_actions": lambda ctx, seat: [
            ("hide" if seat == "0" else "guess", n) for n in range(1, 10)
        ],
    }
    return define_game(**{**parts, **changed})


def secret_of(ctx: Any) -> Any:
    return ctx.G["secret"]


def note_after(payload: Any) -> Any:
    """Hide, and queue notes about it."""
    return lambda ctx: {**hide(ctx), "enqueue": payload(ctx.event.payload)}


def told_reasons(step: Any, seat: str | None) -> Any:
    """A redaction that shows what candidates said."""
    return [
        [candidate.reason, candidate.details]
        for evaluation in step.transition.evaluations
        for candidate in evaluation.candidates
    ]


def why_not(ctx: Any) -> Any:
    """A candidate that is never taken, and talks."""
    return reject("no", {"secret": ctx.G["secret"]})


def nosy_guess(say: Any) -> Any:
    """A guess that is refused in words made from the secret."""
    return lambda ctx: guess(ctx) if ctx.event.payload <= 9 else say(ctx)


LEAKS: dict[str, tuple[Game, str]] = {
    "public view": (
        vault(views=views(public=lambda ctx: {**public(ctx), "s": secret_of(ctx)})),
        "view",
    ),
    "player view": (
        vault(views=views(public=public, player=lambda ctx, seat: {**ctx.G})),
        "view",
    ),
    "size of a view": (
        vault(views=views(public=lambda ctx: {"blanks": [0] * (secret_of(ctx) or 0)})),
        "view",
    ),
    "order of keys": (
        vault(
            views=views(
                public=lambda ctx: dict.fromkeys(
                    sorted("ab", reverse=secret_of(ctx) == 3), 0
                )
            )
        ),
        "view",
    ),
    "a view that fails": (
        vault(views=views(public=lambda ctx: 1 / (3 - (secret_of(ctx) or 0)))),
        "view",
    ),
    "selector": (vault(selectors={"peek": secret_of}), "selector peek"),
    "control": (vault(play={"control": secret_of}), "control"),
    "label": (vault(play={"label": lambda ctx: f"guess {secret_of(ctx)}"}), "label"),
    "metadata": (
        vault(play={"metadata": lambda ctx: [{"key": "s", "value": secret_of(ctx)}]}),
        "metadata",
    ),
    "deadline": (
        vault(
            play={"deadline": lambda ctx: 60_000 + (secret_of(ctx) or 0)},
            more=[timeout("play", "over")],
        ),
        "deadline",
    ),
    "legal actions": (
        vault(
            legal_actions=lambda ctx, seat: (
                [("hide", n) for n in range(1, 10)]
                if seat == "0"
                else [("guess", n) for n in range(1, secret_of(ctx) + 1)]
            )
        ),
        "legal actions",
    ),
    "details of a refusal": (
        vault(guess=nosy_guess(lambda ctx: reject("no", {"off": 99 - secret_of(ctx)}))),
        "answer",
    ),
    "reason of a refusal": (
        vault(
            guess=nosy_guess(
                lambda ctx: reject("low" if secret_of(ctx) < 5 else "high")
            )
        ),
        "answer",
    ),
    "whether it is refused": (
        vault(
            guess=lambda ctx: (
                guess(ctx) if ctx.event.payload != secret_of(ctx) else reject("warm")
            ),
            legal_actions=lambda ctx, seat: (
                [("hide", 3), ("hide", 7)] if seat == "0" else [("guess", 1)]
            ),
        ),
        "answer",
    ),
    "public event": (
        vault(
            events={"hide": event(int, public=True), "guess": event(), "note": event()}
        ),
        "step",
    ),
    "payload of a public internal event": (
        vault(
            hide=note_after(lambda n: [enqueue("note", n)]),
            events={
                "hide": event(int),
                "guess": event(int),
                "note": event(public=True),
            },
        ),
        "step",
    ),
    "number of internal events": (
        vault(hide=note_after(lambda n: [enqueue("note")] * (1 + n // 5))),
        "steps",
    ),
    "details of an evaluation": (
        vault(redact=told_reasons, more=[transition("guess", "play", "over", why_not)]),
        "step",
    ),
    "redaction": (vault(redact=lambda step, seat: {"p": step.event.payload}), "step"),
}


def test_a_game_that_keeps_its_secret_passes() -> None:
    """What only its owner may know is seen by its owner alone."""
    assert_no_leak(vault(), HIDE, until=is_opened)


def test_which_branch_answered_to_a_hidden_choice_is_hidden_too() -> None:
    """Two branches to one state: only who chose is told which it was."""
    low = transition("hide", "hiding", "play", lambda ctx: below(ctx, 5), label="low")
    high = transition(
        "hide",
        "hiding",
        "play",
        lambda ctx: None if below(ctx, 5) else hide(ctx),
        label="high",
    )
    game = vault(hide=lambda ctx: None, more=[low, high])
    assert_no_leak(game, HIDE, until=is_opened)
    batch = create_session(game, PLAYERS).apply("0", "hide", 3, now=1)
    assert isinstance(batch, Batch)
    (step,) = batch.steps
    assert redact_step(game, step, "0")["transition"]["resolver"] == "low"
    assert "low" not in str(redact_step(game, step, "1"))


def below(ctx: Any, limit: int) -> Any:
    return hide(ctx) if ctx.event.payload < limit else None


@pytest.mark.parametrize(("game", "stream"), LEAKS.values(), ids=LEAKS)
def test_every_kind_of_leak_is_caught(game: Game, stream: str) -> None:
    """Whatever carries the secret out is named, with whom it reaches."""
    with pytest.raises(LeakFault) as caught:
        assert_no_leak(game, HIDE, until=is_opened)
    fault = caught.value
    assert fault.stream is not None
    assert fault.stream.startswith(stream)
    assert fault.to in (None, "1")


def test_a_failure_says_where_when_and_how_the_match_came_there() -> None:
    """Stream, receiver, revision, path, both values, and the match so far."""
    game = vault(
        views=views(
            public=public, player=lambda ctx, seat: {"vault": [{"n": secret_of(ctx)}]}
        )
    )
    with pytest.raises(LeakFault) as caught:
        assert_no_leak(game, HIDE, until=is_opened, seeds=["s"])
    fault = caught.value
    assert (fault.stream, fault.revision, fault.to) == ("view", 1, "1")
    assert fault.path == "$.vault[0].n"
    first, *rest = str(fault).splitlines()
    assert first == (
        "vault: seat 0's secret reaches seat 1 at revision 1: view, at $.vault[0].n: "
        "3 in one world, 7 in the other"
    )
    assert rest[0] == "match so far (vault, seed 's', players 0, 1):"
    assert rest[-1].split("->")[0].strip() == "1  0: hide 3, or else 7"


def test_a_leak_at_the_end_of_a_match_is_found() -> None:
    """The worlds are followed until the secret is revealed, and not a step further."""
    late = views(
        public=lambda ctx: {"s": secret_of(ctx) if len(ctx.G["guesses"]) == 3 else None}
    )
    with pytest.raises(LeakFault) as caught:
        assert_no_leak(vault(views=late), HIDE, until=is_opened)
    assert caught.value.revision == 4


def test_a_result_that_depends_on_the_secret_is_told_unless_it_is_the_reveal() -> None:
    """Without `until`, the secret is one to the end."""
    with pytest.raises(LeakFault) as caught:
        assert_no_leak(
            vault(), SecretAction("0", "hide", 3, 70), seeds=map(str, range(9))
        )
    assert caught.value.stream == "result"


def test_a_selector_that_is_never_shown_may_be_left_out() -> None:
    """A host that shows no selectors says so."""
    game = vault(selectors={"peek": secret_of})
    assert_no_leak(game, HIDE, until=is_opened, private_selectors={"peek"})


def test_a_secret_may_lie_in_the_state() -> None:
    """Then the other world's G is made from this one's."""

    def other(ctx: Any) -> Any:
        return {**ctx.G, "secret": 10} if ctx.G["secret"] else None

    assert_no_leak(vault(), SecretState("0", other), until=is_opened)
    leaky, _ = LEAKS["label"]
    with pytest.raises(LeakFault, match="label"):
        assert_no_leak(leaky, SecretState("0", other), until=is_opened)


def test_a_secret_may_be_what_the_match_starts_with() -> None:
    """Its seed, say: before the first die falls nobody knows it."""
    seeds = SecretStart(None, {"seed": "a"}, {"seed": "b"})

    def has_rolled(one: Any, other: Any) -> bool:
        return any(ctx.G["lastRoll"] is not None for ctx in (one, other))

    assert_no_leak(pig_dice.game, seeds, until=has_rolled)
    told = vault(setup=lambda ctx: {"secret": None, "guesses": [len(ctx.seed)]})
    with pytest.raises(LeakFault, match=r"nobody's secret reaches a spectator"):
        assert_no_leak(told, SecretStart(None, {"seed": "a"}, {"seed": "long"}))


@pytest.mark.parametrize(
    ("secret", "until"),
    [
        (SecretAction("0", "hide", 3, 3), is_opened),
        (SecretAction("1", "hide", 3, 7), is_opened),
        (SecretState("0", lambda ctx: None), is_opened),
        (HIDE, lambda one, other: True),
    ],
    ids=["no difference", "never accepted", "nothing to change", "out at once"],
)
def test_a_check_that_compares_nothing_fails(secret: Any, until: Any) -> None:
    """Or it would pass for ever, whatever the game does."""
    with pytest.raises(LeakFault, match="nothing was compared"):
        assert_no_leak(vault(), secret, until=until)
