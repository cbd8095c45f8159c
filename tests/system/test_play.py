"""`hotseat play` as a person uses it: typed lines in, a transcript out."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

COMMAND_TIMEOUT_S = 50
HOTSEAT = (sys.executable, "-P", "-m", "hotseat.nodes.cli.main")

HASTY = """
from hotseat.engine import GameBuilder, current_player

g = GameBuilder("hasty", max_players=2)
g.event("say", str, public=True)
g.event("whisper", str)
g.event("crash")
g.setup(lambda ctx: {"said": [], "whispers": {}})
g.state("over", active_players=[])


@g.state("talk", initial=True, deadline=lambda ctx: ctx.now + ctx.G.get("ms", 300))
def to_talk(ctx):
    return [current_player(ctx)]


@g.transition("say", "talk", "talk", turn="increment")
def say(ctx):
    said = [*ctx.G["said"], ctx.event.payload]
    return {"G": {**ctx.G, "said": said, "ms": 600_000}}


@g.transition("whisper", "talk", "talk", turn="increment")
def whisper(ctx):
    whispers = {**ctx.G["whispers"], ctx.player_id: ctx.event.payload}
    return {"G": {**ctx.G, "whispers": whispers, "ms": 600_000}}


@g.transition("crash", "talk", "talk")
def crash(ctx):
    return ctx.G["nothing"]


@g.timeout("talk", "over")
def late(ctx):
    return {"result": {"silent": current_player(ctx)}}


@g.view.public
def public(ctx):
    return {"said": ctx.G["said"]}


@g.view.player
def player(ctx, seat):
    return {"said": ctx.G["said"], "my whisper": ctx.G["whispers"].get(seat)}


def render(view):
    return "".join(f"<{word}>" for word in view["said"]) or "silence"


game = g.build()
"""


def environment() -> dict[str, str]:
    """Nothing of HOTSEAT_* from outside."""
    return {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}


def play(
    folder: Path, *arguments: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Play with these lines as everything that is ever typed."""
    return subprocess.run(
        [*HOTSEAT, "play", *arguments],
        cwd=folder,
        env=environment(),
        input=typed,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module of a game."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "hasty.py").write_text(HASTY)
    return folder


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[Path]:
    """A cluster of two nodes that also hosts `hasty`."""
    folder = place / "cluster"
    up = ("up", "--nodes", "2", "--dir", str(folder), "--game", "hasty:game")
    run = {"cwd": place, "env": environment(), "timeout": COMMAND_TIMEOUT_S}
    subprocess.run([*HOTSEAT, *up, "--detach"], check=True, **run)  # type: ignore[call-overload]
    try:
        yield folder
    finally:
        down = (*HOTSEAT, "down", "--dir", str(folder))
        subprocess.run(down, check=True, **run)  # type: ignore[call-overload]


def test_a_match_is_played_from_the_first_move_to_the_result(place: Path) -> None:
    """Choices by number and by name; the bot's moves are told; one seed, one match."""
    typed = "\n".join(["5", *"1" * 8]) + "\n"
    done = play(place, "tic-tac-toe", "--seed", "x", typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("tic-tac-toe: seat 0 is yours, seat 1 is a bot.")
    assert "turn 1, play: seat 0 to act" in lines
    assert '  5  place {"cell": 4}' in lines
    assert "0> 5" in lines
    assert any(line.startswith('1: place {"cell": ') for line in lines)
    assert lines[-2].startswith("Result: ")
    assert "\x1b" not in done.stdout
    again = play(place, "tic-tac-toe", "--seed", "x", typed=typed)
    assert again.stdout == done.stdout
    by_name = typed.replace("5", 'place {"cell": 4}', 1)
    named = play(place, "tic-tac-toe", "--seed", "x", typed=by_name).stdout
    assert named.splitlines()[-2] == lines[-2]


def test_refusals_and_mistakes_are_explained_and_change_nothing(place: Path) -> None:
    """The prompt comes again; the choice is still there."""
    typed = 'place {"cell": 44}\nplace one\nplaec\n99\nhelp\nlog\nview\nquit\n'
    done = play(place, "tic-tac-toe", typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    assert "refused: " in said
    assert "[invalid_payload]" in said
    assert "is not JSON" in said
    assert 'Did you mean "place"?' in said
    assert "1 to 9" in said
    assert "leave the match" in said
    assert "nothing has happened yet" in said
    assert said.count("turn 1, play: seat 0 to act") == 2
    assert said.endswith("You left; the match has no result.\n")


def test_a_seat_never_shows_what_only_another_may_know(place: Path) -> None:
    """People hand over; the whisper is in no other view, log or news."""
    typed = '\nwhisper "psst"\n\nlog\nview\nsay "hello"\n\nlog\nquit\n'
    done = play(place, "hasty:game", *everybody(), typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third = done.stdout.split("Press Enter")[1:]
    assert 'whisper "psst"' in first
    assert "psst" not in second
    assert "0: whisper (hidden)" in second
    assert '1: say "hello"' in third
    assert 'whisper "psst"' in third


def everybody() -> list[str]:
    """Both seats are people's."""
    return ["--seat", "0=human", "--seat", "1=human"]


def test_a_game_may_draw_its_view(place: Path) -> None:
    """`render` beside the game is used."""
    done = play(place, "hasty:game", *everybody(), typed='\nsay "hi"\n\nquit\n')
    assert "  silence" in done.stdout.splitlines()
    assert "  <hi>" in done.stdout.splitlines()


def test_a_deadline_is_met_while_a_person_thinks(place: Path) -> None:
    """Nothing is typed, and nothing needs to be."""
    process = subprocess.Popen(
        [*HOTSEAT, "play", "hasty:game", "--seat", "1=human"],
        cwd=place,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()  # the hand-over; after that it stays open
    assert process.stdout is not None
    said = process.stdout.read()
    assert process.wait(COMMAND_TIMEOUT_S) == 0
    process.stdin.close()
    process.stdout.close()
    assert "time ran out" in said
    assert "Result: silent: 0" in said


def test_an_authors_mistake_is_told_with_its_line(place: Path) -> None:
    """It is a refusal; the match goes on."""
    done = play(place, "hasty:game", *everybody(), typed="\ncrash\nquit\n")
    assert done.returncode == 0
    assert "KeyError: 'nothing'" in done.stdout
    assert "hasty.py" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["no-such-game"], "unknown_game", 1),
        (["tic-tac-toe", "--seat", "9=bot"], "invalid_seat", 2),
        (["hasty:game"], "not_playable", 2),
        (["tic-tac-toe", "--dir", "nowhere"], "no_cluster", 3),
        (["tic-tac-toe"], "input_ended", 1),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    place: Path, arguments: list[str], code: str, status: int
) -> None:
    """With a code and an exit status, as every command."""
    done = play(place, *arguments)
    assert done.returncode == status
    errors = [line for line in done.stderr.splitlines() if line[:2] != "  "]
    assert len(errors) == 1
    assert errors[0].startswith(f"error[{code}]: ")


def test_bots_play_a_match_among_themselves(place: Path) -> None:
    """Nobody needs to type anything; what is public is told."""
    done = play(place, "pig-dice", "--seat", "0=bot", "--seed", "s")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1: roll" in done.stdout
    assert "Result: winner: " in done.stdout


def test_a_person_may_let_others_act_first(place: Path) -> None:
    """Where several may act at once; where nobody else may, it is said."""
    done = play(place, "rock-paper-scissors", typed="wait\nwait\nquit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "turn 1, choose: seat 0, seat 1 to act" in done.stdout
    before, after = done.stdout.split("1: choose (hidden)")
    assert before.endswith("0> wait\n")
    assert "turn 1, choose: seat 0 to act" in after
    assert "nobody else can act now" in after


def test_ctrl_c_ends_it_with_status_130(place: Path) -> None:
    """At the prompt, where it waits for a person."""
    process = subprocess.Popen(
        [*HOTSEAT, "play", "tic-tac-toe"],
        cwd=place,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    while not os.read(process.stdout.fileno(), 4096).endswith(b"0> "):
        pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=COMMAND_TIMEOUT_S)
    assert (process.returncode, errors) == (130, b"")


def test_on_a_terminal_there_is_colour_and_the_screen_is_cleared(place: Path) -> None:
    """What one person saw is gone before the next one looks."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*HOTSEAT, "play", "hasty:game", *everybody()],
        cwd=place,
        env={k: v for k, v in environment().items() if k != "NO_COLOR"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    os.write(master, b'\nwhisper "psst"\n\nquit\n')
    said = b""
    try:
        while data := os.read(master, 4096):
            said += data
    except OSError:
        pass  # Linux says so when the other side is closed
    os.close(master)
    assert process.wait(COMMAND_TIMEOUT_S) == 0
    assert said.count(b"\x1b[2J\x1b[3J\x1b[H") == 2
    assert b"\x1b[1m" in said


def test_ctrl_c_leaves_the_shell_a_line_of_its_own(place: Path) -> None:
    """The status is 130, and nothing stands behind the prompt."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*HOTSEAT, "play", "connect-four"],
        cwd=place,
        env=environment(),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    said = b""
    while not said.endswith(b"0> "):
        said += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(COMMAND_TIMEOUT_S) == 130
    assert os.read(master, 4096) == b"\r\n"
    os.close(master)


def test_a_match_is_played_in_a_cluster(place: Path, cluster: Path) -> None:
    """The same commands, the same sight, over the client library."""
    typed = '5\nplace {"cell": 4}\nlog\n' + "1\n" * 8
    for flags in (["--dir", str(cluster)], ["--dir", str(cluster), "--seed", "b"]):
        done = play(place, "tic-tac-toe", *flags, typed=typed)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert "refused: cell taken (cell: 4) [invalid_event]" in done.stdout
        assert '   1  0: place {"cell": 4}' in done.stdout.splitlines()
        assert "Result: " in done.stdout
        assert "It was match " in done.stdout


def test_hidden_information_stays_hidden_in_a_cluster(
    place: Path, cluster: Path
) -> None:
    """A whisper reaches no other seat, and a bot's choice is not told."""
    door = f"ipc://{cluster}/sockets/n1.door"
    flags = ["--cluster", door, *everybody()]
    typed = '\nwhisper "psst"\n\nlog\nview\nquit\n'
    done = play(place, "hasty:game", *flags, typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    _, _, second = done.stdout.split("Press Enter")
    assert "psst" not in second
    assert "0: whisper (hidden)" in second


def test_a_game_that_the_cluster_does_not_host_is_one_error(
    place: Path, cluster: Path
) -> None:
    """It says how it would be hosted."""
    (place / "other.py").write_text(HASTY.replace('"hasty"', '"other"'))
    flags = ["--dir", str(cluster), *everybody()]
    done = play(place, "other:game", *flags)
    assert done.returncode == 1
    assert done.stderr.startswith("error[unknown_game]: ")
    assert "hotseat up --game" in done.stderr
