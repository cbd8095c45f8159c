"""Games of phases and moves: say what a player may do, and what comes of it.

Start with `define_game`, or with the decorators of `GameBuilder`. Both make a game of
the core, which is played, hosted and replayed like any other.
"""

from ..definition import enqueue as enqueue
from ..definition import profile as profile
from ..undo import undo as undo
from . import view as view
from .builder import GameBuilder as GameBuilder
from .context import ComputedContext as ComputedContext
from .context import MoveContext as MoveContext
from .context import PhaseContext as PhaseContext
from .context import TimeoutContext as TimeoutContext
from .definition import define_game as define_game
from .modifier import AppliedModifier as AppliedModifier
from .modifier import Evaluation as Evaluation
from .modifier import Modifier as Modifier
from .modifier import evaluate_number as evaluate_number
from .modifier import evaluate_value as evaluate_value
from .outcome import Outcome as Outcome
from .outcome import end_turn as end_turn
from .outcome import finish as finish
from .outcome import goto as goto
from .outcome import invalid as invalid
from .outcome import stay as stay
from .parts import Core as Core
from .parts import KitViews as KitViews
from .parts import Move as Move
from .parts import Phase as Phase
from .parts import core as core
from .parts import move as move
from .parts import phase as phase
from .parts import views as views
from .turn_policy import TurnPolicy as TurnPolicy
from .turn_policy import round_robin as round_robin
