"""The ladder of the lesson *Stored and safe*: in which form a batch is kept, what its header may say, what is safe."""

from minikafka.common.errors import InvalidRecordException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild import also_asked
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.broker_compression_type import BrokerCompressionType
from minikafka.log.log import Log
from minikafka.log.log_validator import LogValidator
from minikafka.record.codecs.compression import Compression, CompressionType

_LEADERS = ({"refused": 0.3}, {"refused": 0.3, "producers": 2}, {"refused": 0.2, "epochs": True})
_FLUSHES = (
    {"settings": {"flush.messages": 5}},
    {"weights": {"flush": 20, "roll": 10, "tick": 20}},
    {"follower": True, "settings": {"flush.messages": 3}},
)

_CODECS = tuple(
    f"""config compression.type={topic}
append_as_leader [40x20]
append_as_leader [40x20 codec=gzip]
append_as_leader [40x20 codec=zstd]
append_as_leader [40xnull codec=gzip] [1x10]
"""
    for topic in ("producer", "uncompressed")
) + ("config compression.type=gzip\nappend_as_leader [2x10 codec=gzip]\nappend_as_leader [40xnull]\n",)
_HEADERS = """
append_as_leader [2x10 damage=count]
append_as_leader [2x10 last=4]
append_as_leader [1x10 pid=7 epoch=0 seq=-1]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader transaction_version=0 [commit pid=7 epoch=0]
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
append_as_leader origin=coordinator [2x10 last=4]
append_as_leader [3x10]
"""
_SAFE = """
config flush.messages=5
append_as_leader [4x10]
append_as_leader [1x10]
append_as_leader [2x10]
flush
append_as_leader [2x10]
roll
append_as_leader [2x10]
tick 0
flush force_flush_active_segment=true
roll
flush force_flush_active_segment=true
append_as_leader [1x10]
reopen
"""
# What is flushed shows in a segment without records: its index files are created.
_WITHOUT_THE_EMPTY_ONE = """
append_as_leader [1x10]
roll
flush
"""
_WITH_THE_EMPTY_ONE = """
append_as_leader [1x10]
roll
tick 0
flush force_flush_active_segment=true
"""
_NOT_THE_ONE_AFTER = """
append_as_leader [1x10]
roll leo+1
flush force_flush_active_segment=true
"""


# Rung 1


def target_compression(log_compression, producer_compression_type):
    return Compression(producer_compression_type) if log_compression is None else log_compression


def _always_the_producers(log_compression, producer_compression_type):
    return Compression(producer_compression_type)


def _never_the_producers(log_compression, producer_compression_type):
    return log_compression or Compression.NONE


def _only_what_is_compressed(log_compression, producer_compression_type):
    if log_compression is None or producer_compression_type is CompressionType.NONE:
        return Compression(producer_compression_type)
    return log_compression


def _leaves_what_is_compressed(log_compression, producer_compression_type):
    if log_compression is None or producer_compression_type is not CompressionType.NONE:
        return Compression(producer_compression_type)
    return log_compression


compresses = Rung(
    "Rung 1, the codec of the stored batch",
    BrokerCompressionType.target_compression,
    kafka="BrokerCompressionType.targetCompression",
    why="If the codec does not change, the leader keeps the bytes of the records. Otherwise the leader must "
    "decompress it and build it again, which costs processor time.",
    invariants=(
        "It changes nothing, and returns a `Compression`.",
        "`log_compression` is the topic's `Compression`, or None if the topic keeps the producer's codec.",
        "`producer_compression_type` is the `CompressionType` of the batch as it arrived. `Compression(type)` is "
        "that codec with its default level.",
    ),
    chosen=_CODECS,
    profiles=(
        {"settings": {"compression.type": "uncompressed"}, "codecs": ("none", "gzip")},
        {"codecs": ("none", "gzip")},
        {"codecs": ("none", "zstd")},
    ),
    returns=(Compression,),
    changes_nothing=True,
    solution=target_compression,
    beliefs=(
        Belief(
            _always_the_producers, "You ignore the topic. If it names a codec, that one counts, not the producer's."
        ),
        Belief(
            _never_the_producers,
            "If the topic names no codec, you store uncompressed. `producer`, the default, keeps the producer's codec.",
        ),
        Belief(
            _only_what_is_compressed,
            "You leave uncompressed batches as they are. A topic with its own codec compresses them.",
        ),
        Belief(
            _leaves_what_is_compressed,
            "You leave compressed batches as they are. If the topic names a codec, or `uncompressed`, they must be "
            "changed to that.",
        ),
    ),
    hints=(
        "There are two cases: the topic names a codec, or it does not.",
        "Compare with None: `log_compression is None`.",
    ),
)


# Rung 2


def _validate_batch(self, first_batch, batch):
    if batch.magic != first_batch.magic:
        raise InvalidRecordException("Another magic than that of the first batch")
    if self._origin is not AppendOrigin.CLIENT:
        return
    if batch.last_offset < batch.base_offset or batch.count != batch.last_offset - batch.base_offset + 1:
        raise InvalidRecordException("Range of offsets and count of records do not fit")
    if batch.is_control_batch:
        raise InvalidRecordException("Clients write no control records")
    if batch.has_producer_id and batch.base_sequence < 0:
        raise InvalidRecordException("A producer id without a sequence")


def _validates(*, counts=True, markers=True, sequences=True, everybody=False):
    """A version without one of the rules, or with all of them for `everybody`."""

    def version(self, first_batch, batch):
        if self._origin is not AppendOrigin.CLIENT and not everybody:
            return
        if counts and batch.count != batch.last_offset - batch.base_offset + 1:
            raise InvalidRecordException("Range of offsets and count of records do not fit")
        if batch.is_control_batch:
            if markers:
                raise InvalidRecordException("Clients write no control records")
            return
        if sequences and batch.has_producer_id and batch.base_sequence < 0:
            raise InvalidRecordException("A producer id without a sequence")

    return version


validates = Rung(
    "Rung 2, the header of a client's batch",
    LogValidator._validate_batch,
    kafka="LogValidator.validateBatch",
    why="A client may send anything. The fields of a header must agree with each other before the leader assigns "
    "offsets.",
    invariants=(
        "It changes nothing: it raises `InvalidRecordException`, or returns None.",
        "Every batch must have the same magic as the append's first batch. For a batch that does not come from a "
        "client (`self._origin`), this is the only rule.",
        "A client's `count` is the number of offsets from `base_offset` to `last_offset`, both inclusive, and above 0.",
        "A client must not write a control batch. If its batch has a producer id, `base_sequence` must be 0 or more.",
    ),
    chosen=(_HEADERS,),
    profiles=(*_LEADERS, {"producers": 2, "transactions": True, "refused": 0.2}),
    also_asked=also_asked.of_other_batches,
    returns=(type(None),),
    changes_nothing=True,
    solution=_validate_batch,
    beliefs=(
        Belief(_validates(counts=False), "You do not compare the number of records with the range of offsets."),
        Belief(
            _validates(markers=False),
            "You let a client write a marker. Then any client could commit another client's transaction.",
        ),
        Belief(_validates(sequences=False), "You accept a producer id without a sequence."),
        Belief(
            _validates(everybody=True),
            "You check a coordinator's batches like a client's. A coordinator does write markers.",
        ),
    ),
    hints=(
        "First check the magic. Then return unless `self._origin is AppendOrigin.CLIENT`.",
        "`batch` has `magic`, `base_offset`, `last_offset`, `count`, `is_control_batch`, `has_producer_id`, "
        "`base_sequence`.",
    ),
)


# Rung 3


def _flush(self, offset, *, including_offset):
    up_to = offset + 1 if including_offset else offset
    if up_to > self._local_log.recovery_point:
        self._local_log.flush(up_to)
        self._local_log.mark_flushed(offset)


def _flushes(*, marks=lambda self, offset, up_to: offset, up_to=None):
    """A version that marks something else as flushed, or flushes up to something else."""

    def version(self, offset, *, including_offset):
        end = offset + 1 if including_offset else offset
        if end > self._local_log.recovery_point:
            self._local_log.flush(end if up_to is None else up_to(offset))
            if (marked := marks(self, offset, end)) is not None:
                self._local_log.mark_flushed(marked)

    return version


flushes = Rung(
    "Rung 3, what a flush makes safe",
    Log._flush,
    kafka="UnifiedLog.flush",
    why="After a crash, recovery begins with the segment that holds the recovery point. If it is too high, damage may "
    "not be found. If it is too low, the start takes longer than necessary.",
    invariants=(
        "It flushes everything below `offset` to the device (`self._local_log.flush(offset)`). Then it sets the "
        "recovery point to `offset` (`self._local_log.mark_flushed(offset)`).",
        "With `including_offset` it also flushes the segment that begins at `offset`, even if that is empty: it "
        "flushes up to `offset + 1`. The recovery point is still `offset`.",
        "It does nothing if everything it would flush is below `self._local_log.recovery_point`.",
    ),
    chosen=(_SAFE, _WITHOUT_THE_EMPTY_ONE, _WITH_THE_EMPTY_ONE, _NOT_THE_ONE_AFTER),
    profiles=_FLUSHES,
    returns=(type(None),),
    solution=_flush,
    beliefs=(
        Belief(
            _flushes(marks=lambda self, offset, up_to: up_to),
            "Your recovery point passes the log end when the active segment is flushed by force. No record has that "
            "offset yet.",
        ),
        Belief(_flushes(marks=lambda self, offset, up_to: None), "You flush, but you do not set the recovery point."),
        Belief(
            _flushes(marks=lambda self, offset, up_to: self.log_end_offset),
            "You set the recovery point to the log end. After a roll only the records below the new segment are "
            "flushed.",
        ),
        Belief(
            _flushes(marks=lambda self, offset, up_to: offset - 1),
            "You set the recovery point to the last flushed offset. The recovery point is exclusive: it is the first "
            "offset that may not be flushed.",
        ),
    ),
    hints=(
        "First `up_to`: `offset + 1` with `including_offset`, else `offset`.",
        "Only if `up_to` is above the recovery point: flush up to `up_to`, then call `mark_flushed(offset)`.",
    ),
)


LADDER = (compresses, validates, flushes)
"""The rungs in the order in which they are climbed."""
