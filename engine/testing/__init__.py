"""Tools for authors' tests.

`script` plays a match move by move, `random_playout` with random players, and
`check_game` is the conformance suite that every game should pass; invariants are
checked in all three. `assert_no_leak` plays two worlds that differ in one secret, and
sees that nobody else can tell them apart.
"""

from .check_game import GameFault as GameFault
from .check_game import check_game as check_game
from .invariant import Invariant as Invariant
from .leak import LeakFault as LeakFault
from .leak import Until as Until
from .leak import assert_no_leak as assert_no_leak
from .playout import PlayoutError as PlayoutError
from .playout import playout_seats as playout_seats
from .playout import random_playout as random_playout
from .script import ScriptedMatch as ScriptedMatch
from .script import ScriptFault as ScriptFault
from .script import script as script
from .secret import Secret as Secret
from .secret import SecretAction as SecretAction
from .secret import SecretStart as SecretStart
from .secret import SecretState as SecretState
from .transcript import transcript as transcript
