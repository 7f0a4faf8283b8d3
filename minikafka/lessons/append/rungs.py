"""The ladder of the lesson *Append*: what is cut off an append, and what is asked of its batches."""

from minikafka.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
    OffsetsOutOfOrderException,
    RecordTooLargeException,
)
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.append_analysis import analyze_and_validate_records as analyze
from minikafka.log.append_analysis import trim_invalid_bytes as trim
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords

_LEADERS = ({"refused": 0.3}, {"refused": 0.3, "producers": 2}, {"refused": 0.2, "epochs": True})
_FOLLOWERS = (
    {"follower": True, "refused": 0.3, "epochs": True},
    {"follower": True, "refused": 0.2, "weights": {"append": 90}},
)

_CODECS = """
config compression.type=producer
append_as_leader [40x20]
append_as_leader [40x20 codec=gzip]
append_as_leader [40x20 codec=zstd]
append_as_leader [40xnull codec=gzip] [1x10]
"""
_TORN = """
append_as_leader [3x10] [2x10 damage=torn]
append_as_leader [1x10 damage=torn]
append_as_leader [2x10]
append_as_follower [2x10 offset=5] [1x10 offset=7] [1x10 offset=8 damage=torn]
append_as_leader [1x10]
append_as_leader [1x10] [1x10 damage=stump]
append_as_leader [1x10]
"""
_SETS = """
config max.message.bytes=100
append_as_leader [1x32]
append_as_leader [1x33]
append_as_leader [1x10 offset=5]
append_as_leader [1x10 damage=crc]
append_as_leader origin=coordinator [1x10 offset=5]
append_as_follower [1x10 offset=2 leader_epoch=0] [1x10 offset=3 leader_epoch=1] [1x10 offset=4 leader_epoch=0]
append_as_follower leader_epoch=1 [1x10 offset=3 leader_epoch=1] [1x10 offset=9 leader_epoch=1]
append_as_follower leader_epoch=1 [1x10 offset=12 leader_epoch=1] [1x10 offset=11 leader_epoch=1]
append_as_follower leader_epoch=1 [1x10 offset=12 leader_epoch=1] [1x10 offset=12 leader_epoch=1]
append_as_follower leader_epoch=1 [1x90 offset=12 leader_epoch=1] [1x10 offset=20 leader_epoch=2]
append_as_follower leader_epoch=3 [1x10 offset=13 leader_epoch=3 ts=now-9] [1x10 offset=14 leader_epoch=3 ts=now-10]
"""
_ROLLED_BY_TIME = """
config segment.ms=100
append_as_follower [1x10 offset=0 leader_epoch=0]
append_as_follower [1x10 offset=1 leader_epoch=0 ts=now+200] [1x10 offset=2 leader_epoch=0]
append_as_follower [1x10 offset=3 leader_epoch=0]
"""
_UNPACKED = """
config compression.type=uncompressed
append_as_leader [40x20 codec=gzip]
"""
_LATER_EPOCH_OF_A_CLIENT = """
append_as_leader [1x10 leader_epoch=5]
"""


# Rung 1


def trim_invalid_bytes(records, valid_bytes):
    if valid_bytes == records.size_in_bytes:
        return records
    return MemoryRecords.readable_records(records.buffer[:valid_bytes])


def _as_it_came(records, valid_bytes):
    return records


def _nothing_of_it(records, valid_bytes):
    return records if valid_bytes == records.size_in_bytes else MemoryRecords.EMPTY


def _the_first_alone(records, valid_bytes):
    if valid_bytes == records.size_in_bytes:
        return records
    return MemoryRecords.readable_records(records.buffer[: next(iter(records.batches())).size_in_bytes])


def _refused(records, valid_bytes):
    if valid_bytes < records.size_in_bytes:
        raise CorruptRecordException("The last batch is not whole.")
    return records


trims = Rung(
    "Rung 1, half a batch at the end",
    trim,
    why="A request may end in the middle of a batch. The bytes after the last whole batch must not be written to the "
    "file.",
    invariants=(
        "It returns a `MemoryRecords` with the first `valid_bytes` bytes of `records`.",
        "It refuses nothing: the method of rung 2 ran before and found `valid_bytes`.",
        "It does not change `records`.",
    ),
    chosen=(_TORN,),
    profiles=(*_LEADERS[:2], _FOLLOWERS[0]),
    returns=(MemoryRecords,),
    solution=trim_invalid_bytes,
    beliefs=(
        Belief(_as_it_came, "You return the records as they arrived. Then half a batch is written into the file."),
        Belief(_nothing_of_it, "You drop everything because of the last batch. The whole batches before it must stay."),
        Belief(_the_first_alone, "You keep only the first batch. All whole batches stay."),
        Belief(_refused, "You raise an error for half a batch. Kafka cuts it off silently."),
    ),
    hints=(
        "`records.size_in_bytes` and `records.buffer`.",
        "`MemoryRecords.readable_records(bytes)` makes a `MemoryRecords` from bytes.",
    ),
)


# Rung 2


def analyze_and_validate_records(
    records, topic_partition, origin, *, leader_epoch, max_message_size, require_offsets_monotonic, log_start_offset
):
    first, last, last_of_first, epoch, newest, codec, valid = -1, -1, -1, None, -1, CompressionType.NONE, 0
    for batch in records.batches():
        if origin is AppendOrigin.CLIENT and batch.base_offset != 0:
            raise InvalidRecordException("A client's batch begins at 0")
        if origin is AppendOrigin.REPLICATION and batch.partition_leader_epoch > leader_epoch:
            break
        if valid == 0:
            first, last_of_first = batch.base_offset, batch.last_offset
        grows, last = batch.last_offset > last, batch.last_offset
        epoch = None if batch.partition_leader_epoch < 0 else batch.partition_leader_epoch
        if max_message_size is not None and batch.size_in_bytes > max_message_size:
            raise RecordTooLargeException("The batch is too large")
        if not batch.is_valid():
            raise CorruptRecordException("The CRC is wrong")
        newest = max(newest, batch.max_timestamp)
        valid += batch.size_in_bytes
        codec = batch.compression_type if batch.is_compressed else codec
        if require_offsets_monotonic and not grows:
            raise OffsetsOutOfOrderException("Last offsets do not grow")
    return LogAppendInfo(
        first_offset=first,
        last_offset=last,
        last_leader_epoch=epoch,
        max_timestamp=newest,
        log_append_time=-1,
        log_start_offset=log_start_offset,
        source_compression=codec,
        valid_bytes=valid,
        last_offset_of_first_batch=last_of_first,
    )


def _analyzes(*, skips=True, one_by_one=False, equal_is_too_large=False, crc=True, order=True, newest=True):
    """The engine's method on the batches that a belief leaves over, and without the checks that it forgets."""
    engine = analyze  # found now, for on trial that name leads to the learner's function

    def version(
        records, topic_partition, origin, *, leader_epoch, max_message_size, require_offsets_monotonic, log_start_offset
    ):
        asked, limit = leader_epoch, max_message_size
        if origin is AppendOrigin.REPLICATION and (not skips or one_by_one):
            batches = [b for b in records.batches() if not one_by_one or b.partition_leader_epoch <= asked]
            records = MemoryRecords.readable_records(b"".join(bytes(batch.buffer) for batch in batches))
            asked = max([asked, *(batch.partition_leader_epoch for batch in batches)])
        try:
            info = engine(
                records,
                topic_partition,
                origin,
                leader_epoch=asked,
                max_message_size=limit - 1 if equal_is_too_large and limit is not None else limit,
                require_offsets_monotonic=require_offsets_monotonic and order,
                log_start_offset=log_start_offset,
            )
        except CorruptRecordException:
            batches = list(records.batches())
            if crc or not batches:
                raise
            info = LogAppendInfo.unknown(log_start_offset)
            info.first_offset, info.last_offset = batches[0].base_offset, batches[-1].last_offset
            info.valid_bytes, info.last_offset_of_first_batch = records.size_in_bytes, batches[0].last_offset
        if not newest and (batches := list(records.batches())):
            info.max_timestamp = batches[-1].max_timestamp
        return info

    return version


examines = Rung(
    "Rung 2, what came in",
    analyze,
    why="This method goes through the batches of an append once. It checks them and collects everything that the "
    "later steps need.",
    invariants=(
        "A client's batch (`AppendOrigin.CLIENT`) must begin at offset 0, else `InvalidRecordException`.",
        "A follower (`AppendOrigin.REPLICATION`) stops at the first batch of a later epoch than `leader_epoch`, and "
        "leaves out that batch and all after it.",
        "It raises for each batch, checked in this order: `RecordTooLargeException` if the batch is larger than the "
        "limit (None: no limit), `CorruptRecordException` if it is damaged, `OffsetsOutOfOrderException` if its last "
        "offset is not above the one before and `require_offsets_monotonic` is True.",
        "It returns a `LogAppendInfo` with the first offset, the last offset, and the last offset of the first batch "
        "(each -1 without batches); the last batch's epoch (None if it is -1); the largest timestamp; the last codec "
        "other than NONE; and the number of bytes of the batches that count.",
        "`log_append_time` is -1 at this point. `log_start_offset` is the argument.",
    ),
    chosen=(_SETS, _ROLLED_BY_TIME, _TORN, _CODECS, _UNPACKED, _LATER_EPOCH_OF_A_CLIENT),
    profiles=(_LEADERS[0], *_FOLLOWERS),
    returns=(LogAppendInfo,),
    solution=analyze_and_validate_records,
    beliefs=(
        Belief(_analyzes(skips=False), "Your follower takes batches of a later epoch than the one in which it asked."),
        Belief(
            _analyzes(one_by_one=True),
            "You leave out only the batches of a later epoch. From the first of them on, nothing is taken.",
        ),
        Belief(_analyzes(equal_is_too_large=True), "You refuse a batch of exactly the limit. The limit is inclusive."),
        Belief(_analyzes(crc=False), "You do not check the CRC (`batch.is_valid()`)."),
        Belief(_analyzes(order=False), "You accept a last offset that is not above the one of the batch before."),
        Belief(
            _analyzes(newest=False),
            "You take the last batch's timestamp. Use the largest timestamp of all batches that count; rolling by "
            "time depends on it.",
        ),
    ),
    hints=(
        "One loop over `records.batches()`; a batch has `base_offset`, `last_offset`, `partition_leader_epoch`, "
        "`size_in_bytes`, `max_timestamp`, `is_compressed`, `compression_type`, `is_valid()`.",
        "Start with -1 for every offset and for the timestamp, `CompressionType.NONE` for the codec, and 0 bytes.",
        "`LogAppendInfo(first_offset=…, …)` takes all fields by name. You may leave out its last two fields.",
    ),
)

LADDER = (trims, examines)
"""The rungs in the order in which they are climbed."""
