"""The ladder of the lesson *Records*: varints both ways, the CRC, offsets in place, a record's bytes and a header's."""

import struct
import zlib

from minikafka.common.at_hand import crc32c
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild import also_asked
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.log_validator import LogValidator, ValidationResult
from minikafka.record.format import batch_header, record_writer, varint
from minikafka.record.format.batch_header import LOG_OVERHEAD, compute_attributes
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels import kernel
from minikafka.record.kernels.kernel import TOO_LONG, UNDERFLOW

_REBUILT = "config compression.type=uncompressed\n"
"""A topic whose leader unpacks what comes compressed, and so writes each record anew."""

_READS_ALL = "read 0 max_length=9999 isolation=log_end\n"

_UNPACKS = {"codecs": ("gzip",), "settings": {"compression.type": "uncompressed"}}
_WRITES = (_UNPACKS, {**_UNPACKS, "producers": 3}, {"compaction": True})
_COMPACTED = (
    "config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=100\n"
    "append_as_leader [3x10,null,10 keys=2]\nroll leo\nappend_as_leader [2x10 keys=1]\nroll leo\n"
    "update_high_watermark leo\nclean\ntick 200\nclean\n" + _READS_ALL
)


# Rung 1


def write_varint(value, out):
    raw = value << 1 if value >= 0 else (~value << 1) | 1
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def _zigzag(value):
    return value << 1 if value >= 0 else (~value << 1) | 1


def _groups(raw):
    found = [raw & 0x7F]
    while raw := raw >> 7:
        found.append(raw & 0x7F)
    return found


def _writes(*, number=_zigzag, highest_first=False, marks_the_last=False, one_more_at=None):
    """A version that differs in how a sign is kept, in the order of the groups, or in what the high bit says."""

    def version(value, out):
        groups = _groups(number(value))
        if highest_first:
            groups.reverse()
        if groups == [one_more_at]:
            groups.append(0)
        marks = [place < len(groups) - 1 for place in range(len(groups))]
        out.extend(
            group | (0x80 if marked != marks_the_last else 0) for group, marked in zip(groups, marks, strict=True)
        )

    return version


_NUMBERS = (
    _REBUILT + "append_as_leader [3x1,null,63 codec=gzip ts=now,now-1,now-64]\n"
    "append_as_leader [4x64,0,8191,8192 codec=gzip ts=now-64,now,now+63,now+64 keys=2]\n"
    "append_as_leader [2x70 codec=gzip headers=2 ts=now-3600000,now]\n" + _READS_ALL
)

writes_varints = Rung(
    "Rung 1, a number in few bytes",
    varint.write_varint,
    kafka="ByteUtils.writeVarint",
    why="A record consists mostly of sizes and deltas, and most of these numbers are small. If one bit is wrong, "
    "every later field is read wrongly.",
    invariants=(
        "It appends to `out` and returns nothing.",
        "First zigzag: 0, -1, 1, -2, 2 … become 0, 1, 2, 3, 4 … So numbers near 0 stay small, whatever their sign.",
        "Each byte holds seven bits of the number, the lowest seven first. The high bit of a byte says that another "
        "byte follows.",
        "It writes no more bytes than needed: 63 and -64 take one byte, 64 and -65 take two.",
    ),
    chosen=(_NUMBERS, _COMPACTED),
    profiles=_WRITES,
    returns=(type(None),),
    solution=write_varint,
    beliefs=(
        Belief(
            _writes(number=lambda value: value & 0xFFFFFFFF),
            "You write the number without zigzag. A negative number then has all high bits set and takes five bytes. "
            "Apply zigzag first.",
        ),
        Belief(
            _writes(number=lambda value: 2 * abs(value) + (value < 0)),
            "You double the absolute value and put the sign into the lowest bit. Zigzag is different: -1 becomes 1, "
            "not 3.",
        ),
        Belief(_writes(highest_first=True), "You write the highest seven bits first. The lowest come first."),
        Belief(
            _writes(marks_the_last=True),
            "Your high bit marks the last byte. In a varint it is the opposite: the high bit says that another byte "
            "follows.",
        ),
        Belief(
            _writes(one_more_at=0x7F),
            "You write one byte too many if all seven bits are set, as for -64: compare with > 0x7F, not >=.",
        ),
    ),
    hints=(
        "Two steps: first turn the number into a number ≥ 0 (zigzag), then write that in groups of seven bits.",
        "`raw = value << 1 if value >= 0 else (~value << 1) | 1` is zigzag.",
        "`while raw > 0x7F:` append `raw & 0x7F | 0x80` and go on with `raw >> 7`; then append what is left.",
    ),
)


# Rung 2


def read_varint(data, position, end):
    raw = 0
    for shift in range(0, 35, 7):
        if position >= end:
            return 0, UNDERFLOW
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), position
    return 0, TOO_LONG


def _reads_as(*, number=lambda raw: (raw >> 1) ^ -(raw & 1), highest_first=False, one_byte=False, ends_before=0):
    """A version that differs in how it makes a number of the groups, in their order, or in where it ends."""

    def version(data, position, end):
        raw, count = 0, 0
        while True:
            if position >= end:
                return 0, UNDERFLOW
            if count == 5:
                return 0, TOO_LONG
            byte = data[position]
            position += 1
            raw = raw << 7 | byte & 0x7F if highest_first else raw | (byte & 0x7F) << 7 * count
            count += 1
            if byte < 0x80 or one_byte:
                return number(raw), position - (ends_before if count > 1 else 0)

    return version


reads_varints = Rung(
    "Rung 2, and back again",
    kernel.read_varint,
    kafka="ByteUtils.readVarint",
    why="A reader cannot jump to a field in the middle of a record: to know where a field ends, it must read that "
    "field's first bytes.",
    invariants=(
        "It changes nothing, and reads no byte outside `position` (inclusive) to `end` (exclusive).",
        "It returns the number, and the position of the first byte after it.",
        "If the data end inside the number, the answer is `(0, UNDERFLOW)`. If the fifth byte says that another one "
        "follows, it is `(0, TOO_LONG)`.",
        "Keep the lowest 32 bits of the raw number, as a Java int does.",
    ),
    chosen=(
        "append_as_leader [3x1,null,63 ts=now,now-1,now-64]\nappend_as_leader [4x64,0,8191,8192 keys=2]\n"
        "append_as_leader [2x70 headers=2]\nappend_as_leader [1x10 damage=count]\n" + _READS_ALL,
        _NUMBERS,
        _COMPACTED,
    ),
    profiles=({"refused": 0.3}, _UNPACKS, {"follower": True}),
    also_asked=also_asked.with_other_ends,
    returns=(tuple,),
    changes_nothing=True,
    solution=read_varint,
    beliefs=(
        Belief(
            _reads_as(number=lambda raw: raw),
            "You return the raw number. Undo zigzag: 1 means -1, and 2 means 1.",
        ),
        Belief(
            _reads_as(number=lambda raw: -(raw >> 1) if raw & 1 else raw >> 1),
            "You use the lowest bit as a sign only. In zigzag 1 is -1 and 3 is -2; you return 0 and -1.",
        ),
        Belief(
            _reads_as(highest_first=True), "You treat the first byte as the highest. It holds the lowest seven bits."
        ),
        Belief(
            _reads_as(one_byte=True),
            "You stop after one byte. As long as its high bit is set, another one follows.",
        ),
        Belief(
            _reads_as(ends_before=1),
            "You return the position of the last byte. The next read begins one byte later.",
        ),
    ),
    hints=(
        "Keep two numbers: `raw`, and a shift that grows by 7 with each byte. Stop at the first byte below 0x80.",
        "Check `position >= end` before each byte. If five bytes bring no end, the answer is `(0, TOO_LONG)`.",
        "`(raw >> 1) ^ -(raw & 1)` undoes zigzag; keep `raw & 0xFFFFFFFF` first.",
    ),
)


# Rung 3


def compute_checksum(self):
    return crc32c(self.buffer[21:])


def _sums(first, last=None, of=crc32c):
    """A version that sums other bytes, or by another polynomial."""
    return lambda self: of(self.buffer[first:last])


sums = Rung(
    "Rung 3, the CRC of a batch",
    RecordBatch.compute_checksum,
    why="The writer of a batch computes its CRC, and a reader that checks the batch compares. A broker may change, "
    "without a new CRC, only what the CRC does not cover.",
    invariants=(
        "It changes nothing. It returns the CRC that the batch should have, not the stored one.",
        "A broker may change base offset and leader epoch; the CRC stays correct.",
        "The CRC covers everything from the attributes to the last byte of the batch.",
        "It is CRC-32C (`crc32c.crc32c`), an unsigned number of 32 bits.",
    ),
    chosen=(
        "append_as_leader [3x10]\nappend_as_leader [1x10 damage=crc]\n"
        "append_as_leader leader_epoch=3 [2x10 pid=7 seq=0 epoch=0]\nreopen clean=false\n" + _READS_ALL,
        "config message.timestamp.type=LogAppendTime\nappend_as_leader [3x10 ts=now-50]\ntick 5\n"
        "append_as_leader [2x10]\nreopen clean=false\n" + _READS_ALL,
        _COMPACTED,
    ),
    profiles=({"refused": 0.3}, {"unclean": True, "settings": {"message.timestamp.type": "LogAppendTime"}}, _UNPACKS),
    returns=(int,),
    changes_nothing=True,
    solution=compute_checksum,
    beliefs=(
        Belief(
            _sums(0),
            "You include the whole batch. The CRC's own four bytes are then covered, too: writing the CRC would "
            "make it wrong.",
        ),
        Belief(_sums(17), "You include the CRC's own four bytes. The CRC covers only the bytes after them."),
        Belief(
            _sums(12, 17),
            "You include leader epoch and magic, which come before the CRC. The CRC covers only the bytes after "
            "itself, so a broker may change the leader epoch.",
        ),
        Belief(_sums(61), "You cover the records only. The CRC also covers the header from the attributes on."),
        Belief(
            _sums(21, of=zlib.crc32),
            "You compute CRC-32, the one of zip files and of magic 0 and 1. A batch of magic 2 has a CRC-32C.",
        ),
    ),
    hints=(
        "`self.buffer` holds exactly the bytes of the batch. The CRC covers none of the fields that a broker changes "
        "in place. Which is the first field after them and the CRC?",
        "Base offset, length, leader epoch and magic come before the CRC. The CRC has the bytes 17 to 20.",
        "The attributes begin at byte 21.",
    ),
)


# Rung 4


def _assign_in_place(self, batch, summary, first_offset, now):
    next_offset = first_offset + summary.count
    max_timestamp = summary.max_timestamp if summary.count else -1
    if self._timestamp_type is TimestampType.LOG_APPEND_TIME:
        max_timestamp = now
    batch.set_last_offset(next_offset - 1)
    batch.set_partition_leader_epoch(self._partition_leader_epoch)
    batch.set_max_timestamp(self._timestamp_type, max_timestamp)
    return ValidationResult(now, self._records, max_timestamp, False, next_offset)


def _assigns(
    *, last=lambda first, count: first + count - 1, epoch=True, append_time=True, following=lambda first, n: first + n
):
    """A version that differs in the offset, or that forgets the epoch or the topic's kind of timestamp."""

    def version(self, batch, summary, first_offset, now):
        max_timestamp, kind = summary.max_timestamp, self._timestamp_type
        if kind is TimestampType.LOG_APPEND_TIME and append_time:
            max_timestamp = now
        batch.set_last_offset(last(first_offset, summary.count))
        if epoch:
            batch.set_partition_leader_epoch(self._partition_leader_epoch)
        batch.set_max_timestamp(kind if append_time else TimestampType.CREATE_TIME, max_timestamp)
        return ValidationResult(now, self._records, max_timestamp, False, following(first_offset, summary.count))

    return version


assigns = Rung(
    "Rung 4, offsets in place",
    LogValidator._assign_in_place,
    kafka="LogValidator.assignOffsetsNonCompressed",
    why="To assign offsets to a batch, the leader writes only a few bytes of its header, however many records the "
    "batch has.",
    invariants=(
        "No byte of the records changes. The batch's base offset does: `batch.set_last_offset(offset)` sets it so "
        "that the batch ends at that offset, inclusive.",
        "The first record gets `first_offset`, the others follow without a gap. The batch has `summary.count` records.",
        "The batch gets the leader's epoch: `batch.set_partition_leader_epoch(self._partition_leader_epoch)`.",
        "`batch.set_max_timestamp(type, ms)` gets the topic's type, `self._timestamp_type`, and a time: `now` if the "
        "type is LOG_APPEND_TIME, else the largest timestamp of the records, `summary.max_timestamp`.",
        "It returns `ValidationResult(now, self._records, max timestamp, False, next offset)`; the next offset is "
        "one more than the batch's last.",
    ),
    chosen=(
        "append_as_leader [3x10]\nappend_as_leader [2x10 ts=now-9]\n"
        "append_as_leader leader_epoch=3 [4x10 ts=now,now-1]\n" + _READS_ALL,
        "config message.timestamp.type=LogAppendTime\nappend_as_leader [3x10 ts=now-50]\ntick 5\n"
        "append_as_leader [2x10 codec=gzip]\nreopen clean=false\n" + _READS_ALL,
    ),
    profiles=({"epochs": True}, {"producers": 3, "transactions": True}, {"codecs": ("gzip",), "epochs": True}),
    returns=(ValidationResult,),
    solution=_assign_in_place,
    beliefs=(
        Belief(
            _assigns(last=lambda first, count: first),
            "You let the batch end at the offset where it should begin. `set_last_offset` takes the last offset, "
            "inclusive.",
        ),
        Belief(
            _assigns(last=lambda first, count: first + count),
            "Your batch ends one offset too late: n records from offset 0 on end at n - 1.",
        ),
        Belief(
            _assigns(epoch=False),
            "You leave the leader epoch as it arrived. A client does not know it, so -1 would stay there.",
        ),
        Belief(
            _assigns(append_time=False),
            "You keep the producer's timestamps although the topic asks for the time of the append.",
        ),
        Belief(
            _assigns(following=lambda first, n: first + n - 1),
            "Your next offset is the last record's offset. It must be one more.",
        ),
    ),
    hints=(
        "Compute the next offset and the max timestamp, call the three setters, and return the answer.",
        "The last offset is `first_offset + summary.count - 1`.",
        "Compare with `TimestampType.LOG_APPEND_TIME` by `is`. The setter itself decides whether a new CRC is needed.",
    ),
)


# Rung 5


def write_record(out, offset_delta, timestamp_delta, key, value, headers):
    def write_field(field):
        varint.write_varint(-1 if field is None else len(field), body)
        body.extend(field or b"")

    body = bytearray([0])
    varint.write_varint(timestamp_delta, body)
    varint.write_varint(offset_delta, body)
    write_field(key)
    write_field(value)
    varint.write_varint(len(headers), body)
    for name, content in headers:
        write_field(name.encode())
        write_field(content)
    before = len(out)
    varint.write_varint(len(body), out)
    out.extend(body)
    return len(out) - before


def _writes_record(
    *, null=-1, offset_first=False, counts_itself=False, counts_headers=True, attributes=b"\0", returns_all=False
):
    """A version that differs in one field."""

    def version(out, offset_delta, timestamp_delta, key, value, headers):
        def write_field(field):
            varint.write_varint(null if field is None else len(field), body)
            body.extend(field or b"")

        body = bytearray(attributes)
        for delta in (offset_delta, timestamp_delta) if offset_first else (timestamp_delta, offset_delta):
            varint.write_varint(delta, body)
        write_field(key)
        write_field(value)
        if counts_headers:
            varint.write_varint(len(headers), body)
        for name, content in headers:
            write_field(name.encode())
            write_field(content)
        before = len(out)
        varint.write_varint(len(body) + counts_itself, out)
        out.extend(body)
        return len(out) if returns_all else len(out) - before

    return version


writes_records = Rung(
    "Rung 5, a record's bytes",
    record_writer.write_record,
    kafka="DefaultRecord.writeTo",
    why="These bytes are all that is stored of a record. A record has no absolute offset, no absolute timestamp and "
    "no checksum of its own.",
    invariants=(
        "It appends to `out` and returns the number of bytes appended.",
        "The order is: the size of all that follows, one byte of attributes (0), timestamp delta, offset delta, key, "
        "value, number of headers, headers.",
        "Each number is a varint (`varint.write_varint(number, out)`). Key and value are a size and the bytes; null "
        "has the size -1 and no bytes.",
        "The number of headers is written even if it is 0. A header is a key (a text in UTF-8, never null) and a "
        "value, each with its size before it.",
    ),
    chosen=(_NUMBERS, _COMPACTED, _REBUILT + "append_as_leader [2x10 codec=gzip headers=3]\n" + _READS_ALL),
    profiles=_WRITES,
    returns=(int,),
    solution=write_record,
    beliefs=(
        Belief(
            _writes_record(null=0),
            "You write null like an empty field. Null has the size -1: a tombstone is different from an empty value.",
        ),
        Belief(
            _writes_record(offset_first=True), "You write the offset delta first. The timestamp delta comes before it."
        ),
        Belief(
            _writes_record(counts_itself=True),
            "Your size is one too large. It is the number of bytes that follow the size.",
        ),
        Belief(
            _writes_record(counts_headers=False),
            "You do not write the number of headers. Write it even if it is 0.",
        ),
        Belief(
            _writes_record(attributes=b""),
            "You leave out the record's attributes, a byte that is always 0.",
        ),
        Belief(
            _writes_record(returns_all=True),
            "You return the length of `out`, in which the records before this one lie, too.",
        ),
    ),
    hints=(
        "Write the body into its own bytearray: its size comes first, but you know it only at the end.",
        "`varint.write_varint(-1 if field is None else len(field), body)`, then the field's bytes.",
        "A header's key is text: `name.encode()`.",
    ),
)


# Rung 6


def write_header(
    buffer, position, *, base_offset, last_offset_delta, size_in_bytes, magic, compression_type, timestamp_type,
    base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, is_transactional, is_control_batch,
    is_delete_horizon_set, partition_leader_epoch, num_records,
):  # fmt: skip
    attributes = compression_type.id
    attributes |= 0x08 if timestamp_type is TimestampType.LOG_APPEND_TIME else 0
    attributes |= (is_transactional << 4) | (is_control_batch << 5) | (is_delete_horizon_set << 6)
    covered = struct.pack(
        ">hiqqqhii", attributes, last_offset_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, num_records,
    )  # fmt: skip
    buffer[position + 21 : position + 61] = covered
    crc = crc32c(bytes(buffer[position + 21 : position + size_in_bytes]))
    before = struct.pack(">qiibI", base_offset, size_in_bytes - 12, partition_leader_epoch, magic, crc)
    buffer[position : position + 21] = before


_LAYOUT = struct.Struct(">qiibIhiqqqhii")


def _writes_header(*, overhead=LOG_OVERHEAD, crc_from=21, forgets=0, counts_offsets=False):
    """A version that differs in the length, in what the CRC covers, in an attribute bit, or in the count."""

    def version(
        buffer, position, *, base_offset, last_offset_delta, size_in_bytes, magic, compression_type, timestamp_type,
        base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, is_transactional, is_control_batch,
        is_delete_horizon_set, partition_leader_epoch, num_records,
    ):  # fmt: skip
        attributes = compute_attributes(
            compression_type, timestamp_type, is_transactional=is_transactional, is_control=is_control_batch,
            is_delete_horizon_set=is_delete_horizon_set,
        )  # fmt: skip
        _LAYOUT.pack_into(
            buffer, position, base_offset, size_in_bytes - overhead, partition_leader_epoch, magic, 0,
            attributes & ~forgets, last_offset_delta, base_timestamp, max_timestamp, producer_id, producer_epoch,
            base_sequence, last_offset_delta + 1 if counts_offsets else num_records,
        )  # fmt: skip
        crc = crc32c(bytes(buffer[position + crc_from : position + size_in_bytes]))
        buffer[position + 17 : position + 21] = crc.to_bytes(4, "big")

    return version


writes_headers = Rung(
    "Rung 6, a batch's header",
    batch_header.write_header,
    kafka="DefaultRecordBatch.writeHeader",
    why="These 61 bytes say where a batch ends, who wrote it, and how to read its records.",
    invariants=(
        "It writes the 61 bytes from `position` on and no byte after them: the records are already there.",
        "The length field counts the bytes after itself: the size of the batch less 12.",
        "Attributes: the codec's id in the bits 0 to 2, LogAppendTime 3, transactional 4, control 5, delete horizon 6.",
        "The CRC covers the bytes from the attributes on, records included. So compute it last.",
    ),
    chosen=(
        _REBUILT
        + "append_as_leader [3x10 codec=gzip ts=now,now-1]\nappend_as_leader [2x10 codec=lz4 pid=7 epoch=0 seq=0 txn]\n"
        "append_as_leader origin=coordinator transaction_version=2 [commit pid=7 epoch=1]\nreopen clean=false\n"
        + _READS_ALL,
        "config compression.type=uncompressed message.timestamp.type=LogAppendTime\n"
        "append_as_leader [3x10 codec=gzip]\n" + _READS_ALL,
        _COMPACTED,
        # The marker of a transaction without records is written anew, with a delete horizon.
        "config cleanup.policy=compact min.cleanable.dirty.ratio=0\n"
        "append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]\n"
        "append_as_leader [1x10 keys=1 pid=7 epoch=1 seq=0]\nroll leo\nupdate_high_watermark leo\nclean\n" + _READS_ALL,
    ),
    profiles=(
        {**_UNPACKS, "producers": 3, "transactions": True},
        {"compaction": True, "producers": 2, "transactions": True},
        {"compaction": True},
    ),
    returns=(type(None),),
    solution=write_header,
    beliefs=(
        Belief(
            _writes_header(overhead=0),
            "Your length is the size of the whole batch. The field counts only the bytes after itself: 12 less.",
        ),
        Belief(
            _writes_header(crc_from=17),
            "Your CRC covers its own four bytes. It begins with the attributes, at byte 21.",
        ),
        Belief(
            _writes_header(forgets=0x10),
            "You forget that a batch belongs to a transaction: bit 4.",
        ),
        Belief(
            _writes_header(forgets=0x40),
            "You forget that the base timestamp is a delete horizon: bit 6. Without it each cleaning sets a new one.",
        ),
        Belief(
            _writes_header(counts_offsets=True),
            "You count offsets, not records. After compaction a batch has fewer records than offsets.",
        ),
    ),
    hints=(
        '`struct.pack_into(">qiibIhiqqqhii", buffer, position, …)` has all thirteen fields in their order.',
        "First write the header with 0 for the CRC. Then compute `crc32c(…)` of the bytes 21 to `size_in_bytes` "
        "(exclusive), counted from `position`, and write it at byte 17.",
        "`compression_type.id` has the low three bits; `timestamp_type is TimestampType.LOG_APPEND_TIME` sets 0x08.",
    ),
)

LADDER = (writes_varints, reads_varints, sums, assigns, writes_records, writes_headers)
"""The rungs in the order in which they are climbed."""
