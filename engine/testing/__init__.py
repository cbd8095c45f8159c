"""Tools for authors' tests: random playouts, and the conformance suite of a game."""

from .check_game import GameFault as GameFault
from .check_game import check_game as check_game
from .playout import PlayoutError as PlayoutError
from .playout import playout_seats as playout_seats
from .playout import random_playout as random_playout
