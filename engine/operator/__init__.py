"""What an operator does to a match: end it, edit its state, change its game's version.

Pure, like all of the engine: each gives the batch that its record stands for, or a
refusal. Whether an operator may is a host's matter.
"""

from .edit import EDIT_EVENT as EDIT_EVENT
from .edit import edit_state as edit_state
from .json_patch import PatchError as PatchError
from .json_patch import apply_patch as apply_patch
from .json_patch import make_patch as make_patch
from .resign import resign_event as resign_event
from .terminate import TERMINATE_EVENT as TERMINATE_EVENT
from .terminate import terminate_match as terminate_match
from .upgrade import UPGRADE_EVENT as UPGRADE_EVENT
from .upgrade import upgrade_state as upgrade_state
from .view_problem import view_problem as view_problem
