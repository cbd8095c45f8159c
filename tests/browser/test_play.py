"""The play page, by clicking: a table, a match, and all that may happen to its link."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from .conftest import NO_PLAYWRIGHT, Come

pytest.importorskip("playwright", reason=NO_PLAYWRIGHT)

from playwright.sync_api import WebSocketRoute, expect

from .rig import Cluster, Visitor, claims, is_gone

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(120)]


def open_table(visitor: Visitor, cluster: Cluster, game: str, name: str) -> str:
    """Open a table for a game; the link that invites to it."""
    visitor.goto(cluster.url)
    visitor.page.locator("label.tile", has_text=game).click()
    visitor.page.get_by_label("Your name").fill(name)
    visitor.press("Open a table")
    field = visitor.page.get_by_label("Link that invites to this table")
    return field.input_value()


def sit(cluster: Cluster, created: dict[str, Any], come: Come) -> list[Visitor]:
    """A visitor at each seat of a match."""
    visitors = [
        come().goto(f"{cluster.url}/#t={seat['token']}") for seat in created["seats"]
    ]
    for visitor in visitors:
        visitor.is_connected()
    return visitors


def test_two_people_play_and_a_node_dies(cluster: Cluster, come: Come) -> None:
    """From a table and its invite link to the result; that the owner of their match is
    killed in the middle costs them nothing, nor does a reload."""
    ada, bob = come(), come(phone=True)
    invite = open_table(ada, cluster, "Tic-tac-toe", "Ada")
    bob.goto(invite)
    bob.page.get_by_label("Your name").fill("Bob")
    bob.press("Join the table")
    ada.press("Take this seat: Seat 1")
    bob.press("Take this seat: Seat 2")
    waits = "Waiting until all are ready: Bob."  # to start is the host's way
    expect(ada.page.get_by_text(waits)).to_be_visible()
    for player in (ada, bob):
        player.press("I am ready")
    ada.press("Start the match")
    ada.sees("Your turn")
    bob.sees("Ada’s turn")
    ada.cell("Centre: free").click()
    bob.cell("Top left: free").click()
    ada.sees("Your turn")
    cluster.kill_owner(ada.match)
    ada.cell("Middle left: free").click()
    bob.sees("Your turn")
    bob.page.reload()
    bob.cell("Bottom left: free").click()
    ada.cell("Middle right: free").click()
    ada.sees("You won")
    bob.sees("Ada won")
    told = ["Ada marks centre", "Bob marks top left", "Ada marks middle left"]
    told += ["Bob marks bottom left", "Ada marks middle right"]
    moments = ".moment > :last-child"
    expect(ada.page.locator(moments)).to_have_text(["the beginning", *told])
    expect(bob.page.locator(moments)).to_have_text(told)  # also from before the reload
    bob.press("Watch the replay")
    marks = bob.page.locator(".cell svg")
    expect(marks).to_have_count(1)  # it plays
    bob.press("Pause")
    for button, count in (("To the end", 5), ("A step back", 4), ("A step back", 3)):
        bob.press(button)
        expect(marks).to_have_count(count)
    bob.press("To the beginning")
    expect(marks).to_have_count(0)
    bob.press("A step on")
    expect(marks).to_have_count(1)
    where = bob.page.url
    bob.page = bob.tab()
    bob.goto(where).sees("Ada won")  # another tab knows the names, too


def test_a_second_tab_has_the_seat_and_the_first_may_have_it_back(
    cluster: Cluster, come: Come
) -> None:
    """The newest tab plays. The older one says so, and comes back only if asked to."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    ada = come().goto(f"{cluster.url}/#t={created['seats'][0]['token']}")
    ada.sees("Your turn")
    first, ada.page = ada.page, ada.tab()
    opened: list[object] = []
    first.on("websocket", lambda socket: opened.append(socket))
    ada.goto(first.url)
    expect(first.locator(".banner", has_text="in another window")).to_be_visible()
    ada.cell("Centre: free").click()
    ada.sees("Player 2’s turn")
    assert opened == []  # it did not take the seat back by itself
    expect(first.locator(".choosable")).to_have_count(0)
    first.get_by_role("button", name="Play here").click()
    expect(ada.page.locator(".banner", has_text="in another window")).to_be_visible()
    expect(first.locator(".whose")).to_have_text("Player 2’s turn")
    is_gone(first.locator(".banner", has_text="in another window"))


def test_a_seat_link_that_ends_soon_is_made_to_last(
    cluster: Cluster, come: Come
) -> None:
    """The address has a newer token by itself, with all else that stood there; in this
    tab the old link lasts, too."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    old = cluster.told(
        *("token", "mint", "--match", created["id"], "--epoch", str(created["epoch"])),
        *("--seat", "0", "--ttl", "1h"),
    ).strip()
    ada = come().goto(f"{cluster.url}/#t={old}&game=tic-tac-toe")
    ada.sees("Your turn")
    renewed = ada.page.url
    assert renewed.endswith("&game=tic-tac-toe")
    token = renewed.partition("#t=")[2].partition("&")[0]
    assert claims(token)["exp"] > claims(old)["exp"] + 86_400
    ada.page.reload()
    ada.cell("Centre: free").click()
    ada.sees("Player 2’s turn")
    assert ada.page.url == renewed
    ada.goto("about:blank").goto(f"{cluster.url}/#t={old}&game=tic-tac-toe")
    ada.sees("Player 2’s turn")
    assert ada.page.url == renewed


def test_b54_a_tab_that_slept_shows_nothing_old_as_current(
    cluster: Cluster, come: Come
) -> None:
    """On waking the board is marked at once, and stays so until it is in step."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    ada, bob = come(), come()
    ada.bend().clock.install()
    asleep: list[bool] = []

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda said: None if asleep else socket.send(said))

    ada.page.route_web_socket(re.compile("/rooms/"), pass_on)
    ada.goto(f"{cluster.url}/#t={created['seats'][0]['token']}")
    bob.goto(f"{cluster.url}/#t={created['seats'][1]['token']}")
    ada.cell("Centre: free").click()
    ada.sees("Player 2’s turn")
    asleep.append(True)
    bob.cell("Top left: free").click()
    bob.sees("Player 1’s turn")
    ada.page.clock.fast_forward("10:00")
    board = ada.page.locator(".board")
    expect(board).to_have_attribute("aria-busy", "true")
    expect(ada.page.get_by_text("may be out of date")).to_be_visible()
    expect(ada.page.locator(".choosable")).to_have_count(0)
    asleep.clear()
    expect(ada.cell("Top left: O")).to_be_visible()
    expect(board).to_have_attribute("aria-busy", "false")
    ada.sees("Your turn")


def test_b11_a_refused_move_leaves_the_board_as_it_was(
    cluster: Cluster, come: Come
) -> None:
    """The page says why, goes back to what was accepted, and the turn is still on."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    ada, bob = come(), come()
    lying = [False]

    def say_otherwise(said: str | bytes) -> str | bytes:
        message = json.loads(said)
        if lying[0] and message["type"] == "action":
            return json.dumps({**message, "payload": {"cell": 4}})
        return said

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda said: server.send(say_otherwise(said)))

    bob.bend().route_web_socket(re.compile("/rooms/"), pass_on)
    ada.goto(f"{cluster.url}/#t={created['seats'][0]['token']}")
    bob.goto(f"{cluster.url}/#t={created['seats'][1]['token']}")
    ada.cell("Centre: free").click()
    lying[0] = True
    bob.cell("Top left: free").click()
    refusal = bob.page.locator(".refusal")
    expect(refusal).to_contain_text("That cell is taken.")
    expect(bob.page.locator(".cell svg")).to_have_count(1)
    assert "That cell is taken." in bob.heard
    lying[0] = False
    bob.cell("Top left: free").click()
    bob.sees("Player 1’s turn")
    is_gone(refusal)


def test_moves_are_taken_back_if_the_other_agrees(cluster: Cluster, come: Come) -> None:
    """Who asks is told what comes of it; the board is that of before."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    ada, bob = sit(cluster, created, come)
    ada.cell("Centre: free").click()
    ada.press("Ask to take back")
    bob.press("Decline")
    is_gone(ada.page.get_by_text("You asked to take back"))
    bob.cell("Top left: free").click()
    bob.press("Ask to take back")
    ada.press("Agree")
    expect(bob.cell("Top left: free")).to_be_visible()
    bob.sees("Your turn")
    ada.sees("Player 2’s turn")


def test_a_match_is_played_by_keys_alone(cluster: Cluster, come: Come) -> None:
    """The board is one stop for Tab; arrows walk on it, Enter chooses, and what happens
    is read out."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    ada, bob = players = sit(cluster, created, come)
    for player in players:
        player.page.locator("body").press("Tab")
        for _ in range(9):
            if player.page.locator(".cell:focus").count():
                break
            player.page.keyboard.press("Tab")
        player.page.keyboard.press("Home")
        player.page.keyboard.press("ArrowUp")
        player.page.keyboard.press("ArrowUp")
    moves = ["Enter", "ArrowDown Enter", "ArrowRight Enter", "ArrowRight Enter"]
    for number, keys in enumerate([*moves, "ArrowRight Enter"]):
        player = players[number % 2]
        # "Your turn" may still be that of the move before, whose answer is not here yet
        expect(player.page.locator(".choosable")).to_have_count(9 - number)
        player.sees("Your turn")
        for key in keys.split():
            player.page.keyboard.press(key)
    ada.sees("You won")
    bob.sees("Player 1 won")
    assert bob.heard == "Player 1 marks top right. Player 1 won."


def test_a_match_that_is_ended_says_why(cluster: Cluster, come: Come) -> None:
    """An operator ends it: nobody waits for a move that cannot come."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    ada, bob = sit(cluster, created, come)
    ada.sees("Your turn")
    cluster.told("match", "terminate", ada.match, "--why", "the hall closes", "--yes")
    for player in (ada, bob):
        player.sees("An operator ended the match: the hall closes")


def test_a_spectator_is_sent_no_secret(cluster: Cluster, come: Come) -> None:
    """In all that a spectator's page is sent while fleets are laid, there is no ship;
    nor in what the other player's page is sent."""
    created = cluster.open_match("battleship", ["0", "1"])
    ada, bob = sit(cluster, created, come)
    watcher = come().goto(f"{cluster.url}/#t={created['spectator']['token']}")
    watcher.is_connected()
    for player, row in ((ada, 1), (bob, 6)):
        sea = player.page.get_by_role("grid", name="Your sea")
        for column in "ABC":
            placed = "ABC".index(column) + 1
            sea.get_by_role("gridcell", name=re.compile(f"^{column}{row}:")).click()
            expect(player.page.locator(".sea.mine")).to_contain_text(f"{placed} of 3")
            row += 1
    ada.sees("Your turn")
    theirs = ada.page.get_by_role("grid", name="The sea of Player 2")
    theirs.get_by_role("gridcell", name=re.compile("^A6:")).click()
    ada.sees("Player 2’s turn")
    expect(watcher.page.locator(".shot.hit")).to_have_count(1)
    ships = ["[0,1,2,3]", "[9,10,11]", "[18,19]"], ["[40,41,42,43]", "[49,50,51]"]
    assert all(ship in "".join(ada.frames) for ship in ships[0])
    assert all(ship in "".join(bob.frames) for ship in ships[1])
    told = {"watcher": watcher.frames, "ada": ada.frames, "bob": bob.frames}
    for reader, hidden in (("watcher", ships[0] + ships[1]), ("bob", ships[0])):
        text = "".join(told[reader])
        assert text.count('"event":"place"') >= 6  # it was told that ships were laid
        assert not [ship for ship in hidden if ship in text]
    assert '"across"' not in "".join(watcher.frames)


def test_a_bot_plays_in_a_seat_that_is_left(cluster: Cluster, come: Come) -> None:
    """Alone at a table one gives the other seat to a bot, and plays to the end. Who
    follows the invitation too late may watch."""
    ada, late = come(), come()
    invite = open_table(ada, cluster, "Tic-tac-toe", "Ada")
    ada.press("Take this seat: Seat 1")
    bots = ada.page.get_by_label("A bot for Seat 2")
    bots.select_option(label="Random (easy)")
    ada.press("I am ready")
    ada.press("Start the match")
    expect(ada.button("Copy a link to watch")).to_be_visible()
    late.goto(invite)
    late.press("Join the table")
    late.sees(re.compile("Ada’s turn|Random’s turn"))
    expect(late.page.get_by_text("You are watching")).to_be_visible()
    over = re.compile("won|draw")
    moments = ada.page.locator(".moment")
    for mine in range(5):
        ada.sees(re.compile("Your turn|won|draw"))
        if over.search(ada.page.locator(".whose").text_content() or ""):
            break
        expect(moments).to_have_count(1 + 2 * mine)
        ada.page.locator(".choosable").first.click()
        expect(moments).not_to_have_count(1 + 2 * mine)
    ada.sees(over)
    late.sees(over)
    expect(ada.page.locator(".moment", has_text="Random").first).to_be_visible()


def test_a_game_without_a_board_has_settings_a_form_and_a_clock(
    cluster: Cluster, come: Come
) -> None:
    """Its settings are chosen at the table, its actions from a list or written by hand;
    the time that is left runs by the server's clock; the result is what it is."""
    ada, bob = come(), come()
    invite = open_table(ada, cluster, "Nim", "Ada")
    ada.page.get_by_label("Matches").fill("4")
    ada.page.get_by_label("Matches").blur()
    ada.page.get_by_label("Minutes").select_option("1")
    bob.goto(invite)
    bob.press("Join the table")
    expect(bob.page.get_by_label("Matches")).to_have_value("4")
    expect(bob.page.get_by_label("Matches")).to_be_disabled()
    expect(bob.page.get_by_label("Minutes")).to_have_value("1")
    ada.press("Take this seat: Seat 1")
    bob.press("Take this seat: Seat 2")
    for player in (ada, bob):
        player.press("I am ready")
    ada.press("Start the match")
    ada.sees("Your turn")
    expect(ada.page.locator(".seen")).to_have_text(re.compile(r"Left\s*4"))
    clock = ada.page.get_by_role("timer")
    expect(clock).to_have_text(re.compile(r"^0:[345]\d left$"))
    ada.press("Take count 2")
    bob.sees("Your turn")
    bob.page.get_by_text("Write an action").click()
    bob.page.get_by_label("Event").fill("take")
    bob.page.get_by_label("Payload, in JSON").fill("{")
    bob.press("Send")
    expect(bob.page.get_by_text("That is not JSON.")).to_be_visible()
    bob.page.get_by_label("Payload, in JSON").fill('{"count": 3}')
    bob.press("Send")
    expect(bob.page.locator(".refusal")).to_be_visible()
    bob.page.get_by_label("Payload, in JSON").fill('{"count": 2}')
    bob.press("Send")
    bob.sees("You won")
    ada.sees("Player 2 won")


def test_a_link_that_does_not_work_leads_on(cluster: Cluster, come: Come) -> None:
    """It is said what is wrong with it, in words, and there is a way to go on."""
    created = cluster.open_match("tic-tac-toe", ["0", "1"])
    good = created["seats"][0]["token"]
    visitor = come()
    for token, said in (
        ("nothing", "This link is not complete"),
        (good[:-4] + "AAAA", "This link is not accepted"),
    ):
        visitor.goto("about:blank").goto(f"{cluster.url}/#t={token}")
        heading = visitor.page.get_by_role("heading", name=said)
        expect(heading).to_be_visible()
        way = visitor.page.get_by_role("link", name="Open a new match")
        expect(way).to_have_attribute("href", "/")
    visitor.page.get_by_role("link", name="Open a new match").click()
    expect(
        visitor.page.get_by_role("heading", name="What shall we play?")
    ).to_be_visible()
