"""The inspector's data: what happened at each revision of a match, and why.

`Inspector` looks at a replay's `Timeline` or at `LiveFrames`; `reduce_state` keeps the
controls of whatever draws it.
"""

from ..value_diff import ValueChange as ValueChange
from ..value_diff import diff_values as diff_values
from .handoff import Handoff as Handoff
from .handoff import describe_handoff as describe_handoff
from .highlight import Highlight as Highlight
from .highlight import highlight as highlight
from .inspector import QUEUE as QUEUE
from .inspector import InspectedFrame as InspectedFrame
from .inspector import Inspector as Inspector
from .inspector import QueueRules as QueueRules
from .inspector import SeenFrame as SeenFrame
from .playback_state import InspectorState as InspectorState
from .playback_state import reduce_state as reduce_state
from .source import FrameSource as FrameSource
from .source import LiveFrames as LiveFrames
