"""Errors of the runtime.

RuntimeFault
├── LinkError
│   ├── LinkUnavailable    no link to that process is up
│   ├── LinkFull           the peer does not keep up; its queue is full
│   └── LinkRefused        the inbox cannot be opened (a port in use, a bad address)
├── CodecError
│   ├── FrameTooLarge      too_large: more bytes than the limit allows
│   ├── FrameTooDeep       too_deep: nested deeper than the limit allows
│   ├── NotSerializable    non_serializable_args: not JSON
│   ├── FrameMalformed     malformed_frame: bytes that are no frame of ours
│   ├── ChecksumWrong      checksum_wrong: what was stored is not what is read
│   ├── FormatTooNew       format_too_new: written by a newer version of ours
│   └── ContentMalformed   malformed_content: whole, but no version of ours wrote it
├── JournalError
│   ├── JournalFailed      disk_full, disk_refused: nothing of the group is there
│   ├── JournalCorrupt     what was stored cannot be read any more
│   ├── JournalForeign     the file is another program's, or of a newer version
│   └── JournalInUse       another living process has it open
├── MailboxFull            busy: a match has too much waiting
├── MatchRunaway           quarantined: a match's game held the loop too often
├── StateTooLarge          too_large: a match's first state is beyond the limit
├── ProposalRefused
│   ├── NotServing         no_owner: this node does not serve that shard now
│   ├── ProposalsFull      busy: too much of the shard waits for a commit
│   └── TooFewCopies       degraded: fewer copies in sync than min_isr asks for
└── CoordinatorError
    ├── CoordinatorUnavailable
    ├── WatchCompacted     the watch began before the oldest kept revision
    ├── CoordinatorFileInvalid  the file is not a coordinator file we can use
    ├── ControlRecordInvalid    a key holds what no version of ours wrote
    ├── ClusterMismatch         this node and the cluster are configured apart
    └── NodeIdInUse             another live process has this node id

Each class carries `code`, the stable word that logs, refusals and exit messages use.
"""

from __future__ import annotations

__all__ = [
    "ChecksumWrong",
    "ClusterMismatch",
    "CodecError",
    "ContentMalformed",
    "ControlRecordInvalid",
    "CoordinatorError",
    "CoordinatorFileInvalid",
    "CoordinatorUnavailable",
    "FormatTooNew",
    "FrameMalformed",
    "FrameTooDeep",
    "FrameTooLarge",
    "JournalCorrupt",
    "JournalError",
    "JournalFailed",
    "JournalForeign",
    "JournalInUse",
    "LinkError",
    "LinkFull",
    "LinkRefused",
    "LinkUnavailable",
    "MailboxFull",
    "MatchRunaway",
    "NodeIdInUse",
    "NotSerializable",
    "NotServing",
    "PinRefused",
    "ProposalRefused",
    "ProposalsFull",
    "RuntimeFault",
    "StateTooLarge",
    "TooFewCopies",
    "WatchCompacted",
]


class RuntimeFault(Exception):
    """Root of the runtime's errors."""

    code = "runtime_fault"


class LinkError(RuntimeFault):
    """A link could not do what was asked."""

    code = "link_error"


class LinkUnavailable(LinkError):
    """No link to that process is up or being dialled."""

    code = "link_unavailable"


class LinkFull(LinkError):
    """The link's queue has no room."""

    code = "busy"


class LinkRefused(LinkError):
    """The inbox cannot be opened at that address."""

    code = "address_unavailable"


class CodecError(RuntimeFault):
    """A value cannot become bytes, or bytes cannot become a value."""

    code = "codec_error"


class FrameTooLarge(CodecError):
    """More bytes than the limit allows."""

    code = "too_large"


class FrameTooDeep(CodecError):
    """Nested deeper than the limit allows."""

    code = "too_deep"


class NotSerializable(CodecError):
    """The value is not JSON."""

    code = "non_serializable_args"


class FrameMalformed(CodecError):
    """Bytes that are no frame of ours."""

    code = "malformed_frame"


class ChecksumWrong(CodecError):
    """What was stored is not what is read: bytes are cut off, or have changed."""

    code = "checksum_wrong"


class FormatTooNew(CodecError):
    """A newer version of ours wrote it."""

    code = "format_too_new"


class ContentMalformed(CodecError):
    """The checksum is right, but no version of ours wrote this."""

    code = "malformed_content"


class JournalError(RuntimeFault):
    """The node's journal could not do what was asked."""

    code = "journal_error"


class JournalFailed(JournalError):
    """A group of operations is not durable: nothing of it is there.

    `code` says why: "disk_full" or "disk_refused".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class JournalCorrupt(JournalError):
    """What was stored cannot be read any more, or never was ours."""

    code = "journal_corrupt"


class JournalForeign(JournalError):
    """The file is another program's, or a newer version of ours wrote it."""

    code = "journal_foreign"


class JournalInUse(JournalError):
    """Another living process has the journal open."""

    code = "journal_in_use"


class MailboxFull(RuntimeFault):
    """The match has too much waiting."""

    code = "busy"


class MatchRunaway(RuntimeFault):
    """The match's game held the loop too often."""

    code = "quarantined"


class StateTooLarge(RuntimeFault):
    """A match would begin with a state beyond the limit."""

    code = "too_large"


class ProposalRefused(RuntimeFault):
    """Nothing was appended: the replicas of the shard cannot take it now."""

    code = "retry"


class NotServing(ProposalRefused):
    """This node does not own the shard, or does not serve it yet."""

    code = "no_owner"


class ProposalsFull(ProposalRefused):
    """Too much of the shard waits for a commit."""

    code = "busy"


class PinRefused(ProposalRefused):
    """The match cannot be given a shard of its own, or be folded back, now or here.

    `code` says why: "pins_full", "already_pinned", "not_pinned", "moving", "busy" (it
    is being pinned or folded back), "no_such_match", "ended", "not_owner",
    "coordinator_away".
    """

    code = "pin_refused"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RecoveryRefused(RuntimeFault):
    """A shard may not be recovered from this copy; `code` says why."""

    code = "recovery_refused"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class TooFewCopies(ProposalRefused):
    """Fewer copies are in sync than `min_isr` asks for."""

    code = "degraded"


class CoordinatorError(RuntimeFault):
    """The coordinator could not do what was asked."""

    code = "coordinator_error"


class CoordinatorUnavailable(CoordinatorError):
    """The coordinator did not answer."""

    code = "coordinator_unavailable"


class WatchCompacted(CoordinatorError):
    """The watch began before the oldest revision that is kept: list again."""

    code = "compacted"


class CoordinatorFileInvalid(CoordinatorError):
    """The file is no coordinator file, or one of a newer version."""

    code = "coordinator_file_invalid"


class ControlRecordInvalid(CoordinatorError):
    """A control-plane key holds a value that this version cannot read."""

    code = "control_record_invalid"


class ClusterMismatch(CoordinatorError):
    """The node's configuration and the cluster's, fixed at creation, differ."""

    code = "cluster_mismatch"


class NodeIdInUse(CoordinatorError):
    """Another live process is registered under this node id."""

    code = "node_id_in_use"
