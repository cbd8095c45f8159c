"""Replays: saved matches, looked at at any revision.

`save_session` makes an envelope, `open_timeline` opens one, or a log; `Cursor` walks
over it. `write_log_file` and `read_log_file` are for whole logs with their digests.
"""

from .branch import Branch as Branch
from .branch import Branches as Branches
from .compare import Difference as Difference
from .compare import compare_log as compare_log
from .compare import compare_timelines as compare_timelines
from .cursor import Cursor as Cursor
from .cursor import CursorState as CursorState
from .envelope import Envelope as Envelope
from .envelope import EnvelopeAction as EnvelopeAction
from .envelope import create_envelope as create_envelope
from .envelope import envelope_to_json as envelope_to_json
from .envelope import parse_envelope as parse_envelope
from .envelope import read_envelope as read_envelope
from .envelope import write_envelope as write_envelope
from .frame import Frame as Frame
from .log_file import LogFile as LogFile
from .log_file import is_log_file as is_log_file
from .log_file import read_log_file as read_log_file
from .log_file import write_log_file as write_log_file
from .recording import Recording as Recording
from .recording import recording_of as recording_of
from .replay_error import CursorError as CursorError
from .replay_error import EnvelopeError as EnvelopeError
from .replay_error import LogFileError as LogFileError
from .save import save_log as save_log
from .save import save_session as save_session
from .timeline import Timeline as Timeline
from .timeline import materialize as materialize
from .timeline import open_timeline as open_timeline
from .verify import verify_log as verify_log
