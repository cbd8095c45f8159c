"""Whose data this node holds: the boot protocol of the key `replica/<node>`.

In order: an intent (a nonce) is made durable; a compare-and-swap writes {boot + 1, the
intent, serving: false}; the new boot count is made durable; another compare-and-swap
writes {serving: true}; only then may the node serve. Whatever step a crash comes
between, the next process can tell whether these are the data that served last:

1. While the record says serving, the data must hold its boot count.
2. While it does not, nothing was acknowledged under its boot: data that hold that
   boot count *or* that intent are the ones.
3. Other data (an older copy, a loss, none) get a new identity: they are a learner's.
   Not so data of a later boot than the record tells of: these are newer than the
   record. The coordinator went back, and the node waits for its operator, who says
   whether these are the data that served last (`trust`).
4. An intent that was begun is finished, by whatever process: a write of it that was
   thought lost may still land, and then it finds its intent in the data.

With durability "memory" nothing outlives the process: the identity is the process's
own, and the record is kept for operators. Only data that were sealed, by a process that
had ceased to acknowledge and written all that it held, keep theirs (`recovered`), if no
later process has served since: the record must hold the boot count of the seal.

It knows no shards. The shell is `node.py`; times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ..control_plane import ReplicaRecord, decode_record, encode_record
from ..coordinator import ABSENT, CasConflict, CasOk, CasOutcome, CasUnknown, Write
from ..errors import ControlRecordInvalid
from .options import ReplicationOptions
from .output import Alarm, IdentityKept
from .recovered import Recovered

__all__ = ["Identity", "Stage"]


class Stage(Enum):
    """How far the boot protocol has come."""

    READING = "reading"  # the record has not been read
    INTENDING = "intending"  # the intent is being made durable
    CLAIMING = "claiming"  # {boot + 1, intent, serving: false} is to be read back
    KEEPING = "keeping"  # the boot count is being made durable
    OPENING = "opening"  # {serving: true} is to be read back
    OPEN = "open"  # the node may serve
    TAKEN = "taken"  # another process has this identity: serve nothing more


class Identity:
    """One process's way to the identity of its data.

    `boot` is drawn anew by each process; nonces are "<boot>.<number>".
    """

    def __init__(
        self,
        key: str,
        boot: str,
        *,
        durable: bool,
        recovered: Recovered,
        options: ReplicationOptions,
    ) -> None:
        self.stage = Stage.READING
        self._key = key
        self._process = boot
        self._durable = durable
        self._kept = (
            IdentityKept(recovered.ident, recovered.boot, recovered.nonce)
            if durable
            else IdentityKept(recovered.ident or boot, recovered.boot, "")
        )
        self._options = options
        self._idents_drawn = self._nonces_drawn = 0
        self._seen: int | None = None  # the newest revision that was read
        self._revision = ABSENT  # of `_record`
        self._record: ReplicaRecord | None = None
        self._op: IdentityKept | None = None  # to be persisted, not handed out yet
        self._persisting: IdentityKept | None = None
        self._writing: Write | None = None
        self._outdated = False  # a conflict told of a newer record than `_record`
        self._retry_at_ms = 0
        self._pause_ms = options.cas_pause_ms
        self._alarms: list[Alarm] = []
        self._trusted = 0  # the boot that an operator vouches for

    @property
    def ident(self) -> str:
        """The replica that this node's data are; "" before it is known."""
        unknown = self._durable and self.stage is Stage.READING
        return "" if unknown else self._kept.ident

    @property
    def boot(self) -> int:
        """Of this process; final once `open`."""
        return self._kept.boot

    @property
    def open(self) -> bool:
        """Whether this node may serve."""
        return self.stage is Stage.OPEN

    @property
    def at_rest(self) -> bool:
        """Open, and nothing has happened since that somebody must be told."""
        return self.stage is Stage.OPEN and not self._alarms

    @property
    def reading_wanted(self) -> bool:
        """A record has moved past what is known: list."""
        return self._outdated

    # What came.

    def observe(self, revision: int, value: bytes | None) -> None:
        """The record as read, None if there is none; older news changes nothing."""
        if self._seen is not None and revision <= self._seen:
            return
        try:
            record = (
                None
                if value is None
                else decode_record(ReplicaRecord, self._key, value)
            )
        except ControlRecordInvalid as error:
            self._alarm(error.code, str(error))
            return
        self._seen = revision
        self._outdated = False
        self._revision = revision if record is not None else ABSENT
        self._record = record
        self._pause_ms = self._options.cas_pause_ms
        self._retry_at_ms = 0
        self._advance()

    def answered(self, write: Write, outcome: CasOutcome, now_ms: int) -> None:
        """What became of a write that `next_write` gave."""
        assert write == self._writing, (write, self._writing)
        self._writing = None
        if isinstance(outcome, CasOk):
            self.observe(outcome.revision, write.value)
        elif isinstance(outcome, CasConflict):
            self._outdated = self._revision == write.expected
        elif isinstance(outcome, CasUnknown):
            self._retry_at_ms = now_ms + self._pause_ms
            self._pause_ms = min(2 * self._pause_ms, self._options.cas_pause_ms_max)

    def persisted(self) -> None:
        """The operation that `take_op` gave is durable."""
        assert self._persisting is not None, self.stage
        self._kept, self._persisting = self._persisting, None
        if self.stage is Stage.INTENDING:
            self.stage = Stage.CLAIMING
            self._advance()
        elif self.stage is Stage.KEEPING:
            self.stage = Stage.OPENING

    def persist_failed(self) -> None:
        """It is not, and was given up."""
        self._op, self._persisting = self._persisting, None

    @property
    def waits(self) -> bool:
        """For an operator: the record is older than the data."""
        read = self.stage is Stage.READING and self._seen is not None
        return read and self._kept.boot > self._boot_recorded

    def trust(self) -> None:
        """An operator says that these data are the ones that served last, though the
        record has forgotten it. Nothing happens unless this node waits for that."""
        if self.waits:
            self._trusted = self._kept.boot
            self._decide()

    # What follows.

    def take_op(self) -> IdentityKept | None:
        """To be persisted now. Then `persisted` or `persist_failed` must come."""
        if self._op is None:
            return None
        self._op, self._persisting = None, self._op
        return self._persisting

    def next_write(self, now_ms: int) -> Write | None:
        """To be sent now, alone. Then `answered` must come."""
        if self._writing is not None or self._outdated or now_ms < self._retry_at_ms:
            return None
        if self.stage is Stage.CLAIMING:
            record = ReplicaRecord(
                ident=self._kept.ident,
                boot=self._boot_recorded + 1,
                nonce=self._kept.nonce,
                serving=False,
            )
        elif self.stage is Stage.OPENING:
            boot = self._kept.boot if self._durable else self._boot_recorded + 1
            record = ReplicaRecord(
                ident=self._kept.ident, boot=boot, nonce=self._draw(), serving=True
            )
        else:
            return None
        self._writing = Write(self._key, self._revision, encode_record(record))
        return self._writing

    def due_ms(self) -> int | None:
        """When `next_write` has something again, if time alone brings it."""
        waits = self.stage in (Stage.CLAIMING, Stage.OPENING)
        if not waits or self._writing is not None or self._outdated:
            return None
        return self._retry_at_ms

    def take_alarms(self) -> Sequence[Alarm]:
        """Those since the last call."""
        alarms, self._alarms = self._alarms, []
        return alarms

    # The protocol.

    def _advance(self) -> None:
        """What the record, as it is now, means for the stage."""
        if self.stage is Stage.READING:
            self._decide()
        elif self.stage is Stage.CLAIMING:
            if self._is_claimed():
                self._keep(Stage.KEEPING, self._boot_recorded, "")
            elif not self._is_undisturbed():
                self._begin_anew()
        elif self.stage is Stage.OPENING and self._is_opened():
            assert self._record is not None
            self._kept = IdentityKept(self._kept.ident, self._record.boot, "")
            self.stage = Stage.OPEN
        elif self.stage in (Stage.OPENING, Stage.KEEPING) and self._durable:
            if not self._is_claimed():
                self._taken()
        elif self.stage is Stage.OPEN and not self._is_opened():
            self._taken()

    def _decide(self) -> None:
        """The record was read for the first time."""
        if self._kept.boot > self._boot_recorded:
            self._alarm(
                "coordinator_went_back",
                f"{self._key} tells of start {self._boot_recorded}, the data here are"
                f" of start {self._kept.boot}: was the coordinator restored from a"
                " backup? This node serves nothing before an operator says that its"
                " data are the ones that served last (hotseat node trust)",
            )
        elif not self._durable:
            if self._kept.ident != self._process and not self._is_same_data():
                self._kept = IdentityKept(self._process, 0, "")
            self.stage = Stage.OPENING
        elif not self._is_same_data():
            self._begin_anew()
        elif self._kept.nonce and not self._shows_intent():
            self.stage = Stage.CLAIMING  # rule 4
        else:
            self._keep(Stage.INTENDING, self._boot_recorded, self._draw())

    def _begin_anew(self) -> None:
        self._kept = IdentityKept(self._draw_ident(), 0, "")
        self._keep(Stage.INTENDING, self._boot_recorded, self._draw())

    def _keep(self, stage: Stage, boot: int, nonce: str) -> None:
        self.stage = stage
        self._op = IdentityKept(self._kept.ident, boot, nonce)

    def _taken(self) -> None:
        self.stage = Stage.TAKEN
        self._alarm(
            "identity_taken",
            f"{self._key} no longer holds what this process wrote there: another one"
            f" runs as replica {self._kept.ident!r}, or the key was changed by hand;"
            " this one serves nothing more until it is started again",
        )

    def _is_same_data(self) -> bool:
        """Rules 1 to 3: the data here are the ones that served last."""
        record, kept = self._record, self._kept
        if self._trusted:
            return True
        if record is None or not kept.ident or kept.ident != record.ident:
            return False
        return kept.boot == record.boot or self._shows_intent()

    def _shows_intent(self) -> bool:
        """The record is the intent that the data hold, and nothing was served since."""
        record, nonce = self._record, self._kept.nonce
        return record is not None and not record.serving and record.nonce == nonce != ""

    def _is_claimed(self) -> bool:
        """The claim stands: read in CLAIMING, and unchanged ever since."""
        record = self._record
        if record is None or record.serving or record.ident != self._kept.ident:
            return False
        if self.stage is Stage.CLAIMING:
            return record.nonce == self._kept.nonce
        return record.boot == (self._op or self._persisting or self._kept).boot

    def _is_undisturbed(self) -> bool:
        """Nobody else has counted a boot since these data were found to be the ones."""
        record, kept = self._record, self._kept
        if self._trusted:
            return record is None or record.boot <= self._trusted
        if record is None or record.ident != kept.ident:
            # A new identity is nowhere yet, and takes the place of any other.
            return kept.ident.startswith(self._process)
        return record.boot == kept.boot

    def _is_opened(self) -> bool:
        record = self._record
        return (
            record is not None
            and record.serving
            and record.ident == self._kept.ident
            and record.nonce.startswith(f"{self._process}.")
        )

    @property
    def _boot_recorded(self) -> int:
        boot = 0 if self._record is None else self._record.boot
        return max(boot, self._trusted)

    def _draw(self) -> str:
        self._nonces_drawn += 1
        return f"{self._process}.{self._nonces_drawn}"

    def _draw_ident(self) -> str:
        self._idents_drawn += 1
        drawn = self._idents_drawn
        return self._process if drawn == 1 else f"{self._process}-{drawn}"

    def _alarm(self, code: str, message: str) -> None:
        self._alarms.append(Alarm(-1, code, message))
