"""Tools for authors' tests.

`script` plays a match move by move, `random_playout` with random players, and
`check_game` is the conformance suite that every game should pass. Invariants are
checked in all three.
"""

from .check_game import GameFault as GameFault
from .check_game import check_game as check_game
from .invariant import Invariant as Invariant
from .playout import PlayoutError as PlayoutError
from .playout import playout_seats as playout_seats
from .playout import random_playout as random_playout
from .script import ScriptedMatch as ScriptedMatch
from .script import ScriptFault as ScriptFault
from .script import script as script
from .transcript import transcript as transcript
