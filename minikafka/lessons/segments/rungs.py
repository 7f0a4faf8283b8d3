"""The ladder of the lesson *Segments*: when a segment is full, how its index is searched and kept, and what goes."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild import also_asked
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.index.offset_index import OffsetIndex, OffsetPosition
from minikafka.log.index.time_index import TimestampOffset
from minikafka.log.log import Log
from minikafka.log.log_segment import LogSegment
from minikafka.record.files.file_records import LogOffsetPosition


def _reads(*offsets):
    """Lines of a workload: reads of some bytes from each offset on, up to the log end."""
    return "".join(f"read {offset} max_length=100 isolation=log_end\n" for offset in offsets)


_DRAWN = ({}, {"epochs": True}, {"follower": True, "epochs": True}, {"producers": 3}, {})


# Rung 1


def should_roll(self, roll_params):
    waited_ms = self.time_waited_for_roll(roll_params.now, roll_params.max_timestamp_in_messages)
    is_too_old = waited_ms > roll_params.max_segment_ms - self.roll_jitter_ms
    return (
        self.size > roll_params.max_segment_bytes - roll_params.messages_size
        or (self.size > 0 and is_too_old)
        or self.offset_index.is_full
        or self.time_index.is_full
        or not self.offset_index.can_append_offset(roll_params.max_offset_in_messages)
    )


def _rolls_for(*reasons, full=lambda size, limit, incoming: size > limit - incoming, late=lambda ms, limit: ms > limit):
    """A version with some of the reasons alone, or with another comparison."""

    def version(self, roll_params):
        waited_ms = self.time_waited_for_roll(roll_params.now, roll_params.max_timestamp_in_messages)
        return (
            ("size" in reasons and full(self.size, roll_params.max_segment_bytes, roll_params.messages_size))
            or ("time" in reasons and self.size > 0 and late(waited_ms, roll_params.max_segment_ms))
            or ("indexes" in reasons and (self.offset_index.is_full or self.time_index.is_full))
            or ("offsets" in reasons and not self.offset_index.can_append_offset(roll_params.max_offset_in_messages))
        )

    return version


_ALL = ("size", "time", "indexes", "offsets")

rolls = Rung(
    "Rung 1, when a segment is full",
    LogSegment.should_roll,
    why="Base offsets are file names. One roll too early or too late, and every file after it has another name.",
    invariants=(
        "It only answers: True when the append that `roll_params` describes needs a new segment.",
        "No segment grows beyond segment.bytes, and one may be exactly full.",
        "Age counts for a segment that holds something, and being exactly as old as the limit is not yet too old.",
        "Both indexes must have room for another entry, and the append's last offset must fit 32 bits.",
    ),
    chosen=(
        "config internal.segment.bytes=353\nappend_as_leader [3x10]\nappend_as_leader [5x10]\nappend_as_leader [2x10]\n"
        "append_as_leader [10x10]\n",
        "config segment.ms=1000\nappend_as_leader [1x10]\ntick 1000\nappend_as_leader [1x10]\ntick 1\n"
        "append_as_leader [1x10]\n",
        "config segment.index.bytes=16 index.interval.bytes=0\n" + "append_as_leader [1x10]\n" * 5,
        # All of one time, which is one entry in the time index: the offset index is full first.
        "config segment.index.bytes=40 index.interval.bytes=0\n" + "append_as_leader [1x10]\n" * 9,
        "append_as_follower [1x10 offset=0]\nappend_as_follower [1x10 offset=2147483648]\n",
    ),
    profiles=_DRAWN,
    returns=(bool,),
    changes_nothing=True,
    solution=should_roll,
    beliefs=(
        Belief(
            _rolls_for(*_ALL, full=lambda size, limit, incoming: size >= limit - incoming),
            "You roll when the append would fill the segment exactly. Kafka asks `size > segment.bytes - incoming`.",
        ),
        Belief(
            _rolls_for(*_ALL, full=lambda size, limit, incoming: size > limit),
            "You let the append in and roll afterwards. Kafka asks first, with the append's own bytes.",
        ),
        Belief(_rolls_for("size"), "You roll for size alone. There are five reasons; the index's room is one."),
        Belief(
            _rolls_for("size", "indexes", "offsets"), "You forget the time: segment.ms ends a segment that is too old."
        ),
        Belief(
            _rolls_for("size", "time", "offsets"),
            "You forget the indexes: where one of them has no room for another entry, a new segment begins.",
        ),
        Belief(
            _rolls_for("size", "time", "indexes"),
            "You forget the offset: what an index says of it is 32 bits from the base offset on.",
        ),
        Belief(
            _rolls_for(*_ALL, late=lambda ms, limit: ms >= limit),
            "You roll a segment that is exactly as old as segment.ms. Kafka waits until it is older.",
        ),
    ),
    hints=(
        "Five reasons joined by `or`: size, age, offset index full, time index full, offset too far from the base.",
        "Size: `self.size > roll_params.max_segment_bytes - roll_params.messages_size`.",
        "Age: `self.time_waited_for_roll(roll_params.now, roll_params.max_timestamp_in_messages)` gives the ms waited; "
        "compare with `roll_params.max_segment_ms - self.roll_jitter_ms`, and only if `self.size > 0`.",
        "Indexes: `self.offset_index.is_full` and `self.time_index.is_full`. Offset: "
        "`self.offset_index.can_append_offset(roll_params.max_offset_in_messages)` is False where it is too far.",
    ),
)


# Rung 2


def lookup(self, target_offset):
    low, high = 0, self.entries
    while low < high:
        middle = (low + high) // 2
        if self.entry(middle).offset <= target_offset:
            low = middle + 1
        else:
            high = middle
    return self.entry(low - 1) if low else OffsetPosition(self.base_offset, 0)


def _lookup_exactly(self, target_offset):
    found = [self.entry(n) for n in range(self.entries) if self.entry(n).offset == target_offset]
    return found[0] if found else OffsetPosition(self.base_offset, 0)


def _lookup_next(self, target_offset):
    later = [self.entry(n) for n in range(self.entries) if self.entry(n).offset >= target_offset]
    return later[0] if later else OffsetPosition(self.base_offset, 0)


def _lookup_strictly_before(self, target_offset):
    earlier = [self.entry(n) for n in range(self.entries) if self.entry(n).offset < target_offset]
    return earlier[-1] if earlier else OffsetPosition(self.base_offset, 0)


def _lookup_from_zero(self, target_offset):
    found = lookup(self, target_offset)
    return found if found.position else OffsetPosition(0, 0)


def _lookup_relative(self, target_offset):
    found = [self.entry(n) for n in range(self.entries) if self.entry(n).offset - self.base_offset <= target_offset]
    return found[-1] if found else OffsetPosition(self.base_offset, 0)


looks_up = Rung(
    "Rung 2, the search in an index",
    OffsetIndex.lookup,
    why="Every read begins here. A search that is off by one entry reads too much, or misses the record.",
    invariants=(
        "It only looks.",
        "Its answer is the entry with the largest offset that is not above the target.",
        "Where there is none, the answer is the base offset at byte 0.",
        "It asks for no entry that is not there: in `entry(n)`, n is in 0 … entries - 1. A new index has none.",
    ),
    chosen=(
        "config index.interval.bytes=0\n" + "append_as_leader [2x10]\n" * 6 + _reads(5, 6, 0, 11),
        "config index.interval.bytes=100 internal.segment.bytes=700\n"
        + "append_as_leader [3x20]\n" * 9
        + f"truncate_to leo-5\n{_reads('leo-3')}truncate_to leo-8\nappend_as_leader [1x10]\n",
    ),
    profiles=_DRAWN,
    returns=(OffsetPosition,),
    changes_nothing=True,
    solution=lookup,
    beliefs=(
        Belief(_lookup_exactly, "You look for the offset itself. The index is sparse: most offsets have none."),
        Belief(
            _lookup_next,
            "You take the first entry at or above the target. Its batch may begin behind the record that is wanted.",
        ),
        Belief(
            _lookup_strictly_before,
            "You leave out an entry for the target itself. An entry's key is the last offset of its batch, so the "
            "record lies in that batch, and not before it.",
        ),
        Belief(
            _lookup_from_zero,
            "Without an entry you answer offset 0. The answer is the segment's base offset, at byte 0.",
        ),
        Belief(
            _lookup_relative,
            "You compare relative offsets with an absolute target. `entry(n).offset` is absolute already.",
        ),
    ),
    hints=(
        "`self.entries` says how many; `self.entry(n)` is an OffsetPosition(offset, position), the offset absolute.",
        "Halve: keep `low` and `high` so that all entries below `low` are ≤ the target, all from `high` on above it.",
        "At the end the answer is `self.entry(low - 1)`, or `OffsetPosition(self.base_offset, 0)` when low is 0.",
    ),
)


# Rung 3


def translate_offset(self, offset, starting_file_position=0):
    indexed = self.offset_index.lookup(offset)
    position = max(indexed.position, starting_file_position)
    for batch in self.log.batches_from(position):
        if batch.last_offset >= offset:
            return LogOffsetPosition(batch.base_offset, batch.position, batch.size_in_bytes)
    return None


def _translate_from_base(self, offset, starting_file_position=0):
    for batch in self.log.batches_from(max(self.offset_index.lookup(offset).position, starting_file_position)):
        if batch.base_offset >= offset:
            return LogOffsetPosition(batch.base_offset, batch.position, batch.size_in_bytes)
    return None


def _translate_beyond(self, offset, starting_file_position=0):
    for batch in self.log.batches_from(max(self.offset_index.lookup(offset).position, starting_file_position)):
        if batch.last_offset > offset:
            return LogOffsetPosition(batch.base_offset, batch.position, batch.size_in_bytes)
    return None


def _translate_to_the_asked(self, offset, starting_file_position=0):
    found = translate_offset(self, offset, starting_file_position)
    return None if found is None else LogOffsetPosition(offset, found.position, found.size)


def _translate_by_the_index(self, offset, starting_file_position=0):
    indexed = self.offset_index.lookup(offset)
    for batch in self.log.batches_from(indexed.position):
        return LogOffsetPosition(batch.base_offset, batch.position, batch.size_in_bytes)
    return None


def _translate_without_a_start(self, offset, starting_file_position=0):
    return translate_offset(self, offset)


translates = Rung(
    "Rung 3, from an offset to a byte",
    LogSegment.translate_offset,
    why="The index leads near the record; the rest of the way goes from batch to batch.",
    invariants=(
        "It only looks.",
        "Its answer is the place of the first batch whose last offset is at or above the target, None behind the last.",
        "The search begins at the byte that the index names, or at `starting_file_position` if that lies further on. "
        "(Kafka's log gives 0; your function is asked with others, too.)",
        "The answer's offset is the batch's own base offset, which may lie below or above the target.",
    ),
    chosen=(
        "config index.interval.bytes=150\n"
        + "append_as_leader [3x10]\n" * 6
        + "update_high_watermark leo\n"
        + _reads(0, 4, 5, 17, 18),
        "append_as_follower [3x10 offset=0] [2x10 offset=7 last=12] [1x10 offset=20]\n" + _reads(3, 12, 13, 9),
    ),
    profiles=_DRAWN,
    also_asked=also_asked.from_other_places,
    returns=(LogOffsetPosition, type(None)),
    changes_nothing=True,
    solution=translate_offset,
    beliefs=(
        Belief(
            _translate_from_base,
            "You look for a base offset at or above the target, and pass over the batch that the record lies within.",
        ),
        Belief(_translate_beyond, "You pass over a batch that ends with the target. Its last record is the one."),
        Belief(
            _translate_to_the_asked,
            "You answer with the offset that was asked for. The answer names the batch, by its own base offset.",
        ),
        Belief(
            _translate_by_the_index,
            "You take the batch that the index names. It lies at or before the record; go on from there.",
        ),
        Belief(
            _translate_without_a_start,
            "You forget `starting_file_position`. Whoever gives one has no use for what lies before it.",
        ),
    ),
    hints=(
        "First `self.offset_index.lookup(offset).position`, then walk: `self.log.batches_from(position)`.",
        "A batch has `base_offset`, `last_offset`, `position` and `size_in_bytes`. Stop at the first that ends at or "
        "behind the target.",
        "The answer is `LogOffsetPosition(batch.base_offset, batch.position, batch.size_in_bytes)`.",
    ),
)


# Rung 4


def append(self, largest_offset, records):
    if records.size_in_bytes == 0:
        return
    self._ensure_offset_in_range(largest_offset)
    position = self.size
    self.log.append(records)
    for batch in records.batches():
        if batch.max_timestamp > self.max_timestamp_so_far:
            self._max_timestamp_and_offset_so_far = TimestampOffset(batch.max_timestamp, batch.last_offset)
        if self._bytes_since_last_index_entry > self.index_interval_bytes:
            self.offset_index.append(batch.last_offset, position)
            self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())
            self._bytes_since_last_index_entry = 0
        position += batch.size_in_bytes
        self._bytes_since_last_index_entry += batch.size_in_bytes


def _appends(
    *,
    due=lambda waiting, interval: waiting > interval,
    key=lambda batch, first: batch.last_offset,
    counts_first=False,
    place=lambda before, batch: before,
    of_the_append=False,
    minds_times=True,
):
    """A version that differs in when an entry is due, in its key, in the byte that it names, or that knows no times."""

    def version(self, largest_offset, records):
        if records.size_in_bytes == 0:
            return
        self._ensure_offset_in_range(largest_offset)
        position = self.size
        self.log.append(records)
        for batch in records.batches():
            if minds_times and batch.max_timestamp > self.max_timestamp_so_far:
                self._max_timestamp_and_offset_so_far = TimestampOffset(batch.max_timestamp, batch.last_offset)
            if counts_first:
                self._bytes_since_last_index_entry += batch.size_in_bytes
            if due(self._bytes_since_last_index_entry, self.index_interval_bytes):
                found = largest_offset if of_the_append else key(batch, self.base_offset)
                self.offset_index.append(found, place(position, batch))
                if minds_times:
                    self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())
                self._bytes_since_last_index_entry = 0
            position += batch.size_in_bytes
            if not counts_first:
                self._bytes_since_last_index_entry += batch.size_in_bytes

    return version


appends = Rung(
    "Rung 4, an append and its index entries",
    LogSegment.append,
    why="All that a segment ever holds comes in here; both indexes are made here, entry by entry.",
    invariants=(
        "The last offset must fit 32 bits before a byte is written (`self._ensure_offset_in_range`).",
        "An entry is due for a batch when more than `index_interval_bytes` came since the last entry, "
        "the batch itself not counted (`self._bytes_since_last_index_entry`).",
        "The offset index gets the batch's last offset, and the byte at which the batch begins.",
        "The time index gets the largest timestamp so far and the last offset of the batch that brought it "
        "(set as `self._max_timestamp_and_offset_so_far`, a `TimestampOffset`), this batch included.",
        "What is set there is read by `self.max_timestamp_so_far` and `self.read_max_timestamp_and_offset_so_far()`: "
        "in a segment just opened nothing is set, and they ask the time index.",
        "Nothing to append: nothing is done.",
    ),
    chosen=(
        "config index.interval.bytes=100\n"
        + "append_as_leader [1x10]\n" * 6
        + "append_as_leader [1x10 ts=now-9]\nappend_as_leader [2x10 ts=now+5]\nappend_as_leader [1x10]\nroll leo\n",
        "config index.interval.bytes=70\nappend_as_follower [2x10 offset=0] [1x10 offset=2] [3x10 offset=3]\n"
        "append_as_follower [1x10 offset=6] [1x10 offset=7]\n",
        # As many bytes as one of these batches has, and one less.
        *(f"config index.interval.bytes={size}\n" + "append_as_leader [1x10]\n" * 7 for size in (78, 77)),
    ),
    profiles=_DRAWN,
    returns=(type(None),),
    solution=append,
    beliefs=(
        Belief(
            _appends(due=lambda waiting, interval: waiting >= interval),
            "An entry is due when *more* than index.interval.bytes came since the last one; exactly as many are not "
            "enough.",
        ),
        Belief(
            _appends(counts_first=True),
            "You count a batch before you ask whether it is due. So the first batch of a segment may get an entry, "
            "which says nothing: an empty index means byte 0.",
        ),
        Belief(
            _appends(key=lambda batch, first: batch.base_offset),
            "Your entries have the batch's base offset as their key. Kafka's have its last offset.",
        ),
        Belief(
            _appends(place=lambda before, batch: before + batch.size_in_bytes),
            "Your entries name the byte behind the batch. A search goes on from there, and misses it.",
        ),
        Belief(
            _appends(of_the_append=True),
            "Your key is the last offset of all batches appended together, as it was up to Kafka 3.9.0, and in 4.0.0.",
        ),
        Belief(_appends(minds_times=False), "You forget the time index, and the largest timestamp that it needs."),
    ),
    hints=(
        "The order: check the offset, note `self.size`, `self.log.append(records)`, then batch by batch.",
        "For each batch: first the largest timestamp, then *is an entry due?*, then count its bytes.",
        "`self.offset_index.append(batch.last_offset, position)` and "
        "`self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())`, then the count is 0 again.",
    ),
)


# Rung 5


def deletable_segments(self, should_delete):
    deletable = []
    segments = self.log_segments
    for segment, next_segment in zip(segments, [*segments[1:], None], strict=True):
        end = self.log_end_offset if next_segment is None else next_segment.base_offset
        if end > self.high_watermark or not should_delete(segment, next_segment):
            break
        if next_segment is None and segment.size == 0:
            break
        deletable.append(segment)
    return deletable


def _deletes(
    *, minds_the_mark=True, stops=True, keeps_the_active=False, keeps_the_empty=True, asks_about_the_empty=True
):
    """A version without one of the bounds."""

    def version(self, should_delete):
        deletable = []
        segments = self.log_segments
        for segment, next_segment in zip(segments, [*segments[1:], None], strict=True):
            end = self.log_end_offset if next_segment is None else next_segment.base_offset
            if (
                (minds_the_mark and end > self.high_watermark)
                or (not asks_about_the_empty and next_segment is None and segment.size == 0)
                or not should_delete(segment, next_segment)
                or (next_segment is None and (keeps_the_active or (keeps_the_empty and segment.size == 0)))
            ):
                if stops:
                    break
                continue
            deletable.append(segment)
        return deletable

    return version


deletes = Rung(
    "Rung 5, what retention may delete",
    Log.deletable_segments,
    why="What this method returns is gone. It is asked once for each rule of retention.",
    invariants=(
        "It only looks: `should_delete(segment, next_segment)` is the rule, `next_segment` None for the last one.",
        "It asks from the oldest segment on, and what it returns begins with the oldest: no holes.",
        "Nothing goes unless all of it lies below the high watermark.",
        "A last segment without a byte stays. The rule is asked about it all the same: one by time opens the time "
        "index, which makes its file.",
    ),
    chosen=(
        "config internal.segment.bytes=250 retention.bytes=0\n"
        + "append_as_leader [3x10]\n" * 6
        + "update_high_watermark 7\ndelete_old_segments\nupdate_high_watermark leo\ndelete_old_segments\n"
        "delete_old_segments\n",
        "config retention.ms=1000 internal.segment.bytes=120\nappend_as_leader [1x40 ts=now-5000]\n"
        "append_as_leader [1x40]\nappend_as_leader [1x40 ts=now-5000]\nupdate_high_watermark leo\ndelete_old_segments\n"
        "tick 2000\ndelete_old_segments\n",
    ),
    profiles=({}, {"epochs": True}, {"weights": {"retention": 20}}, {"weights": {"retention": 20}}),
    returns=(list,),
    solution=deletable_segments,
    beliefs=(
        Belief(
            _deletes(minds_the_mark=False),
            "You delete what is not replicated yet. A segment may go when all of it lies below the high watermark.",
        ),
        Belief(
            _deletes(stops=False),
            "You pass over a segment that stays, and take younger ones: that leaves a hole in the log.",
        ),
        Belief(
            _deletes(keeps_the_active=True),
            "You always keep the last segment. Kafka lets it go too, and begins a new one first.",
        ),
        Belief(
            _deletes(keeps_the_empty=False),
            "You let a last segment without a byte go. Nothing is gained, and the log would make a new one each time.",
        ),
        Belief(
            _deletes(asks_about_the_empty=False),
            "You do not ask the rule about a last segment without a byte. Kafka asks first: the rule by time opens the "
            "time index, and so its file is made.",
        ),
    ),
    hints=(
        "Walk over `self.log_segments` with the next one beside each; the last one's next is None.",
        "A segment ends where the next begins, the last at `self.log_end_offset`; compare with `self.high_watermark`.",
        "Stop at the first that stays: above the mark, or the rule says no, or last and empty, asked in this order.",
    ),
)

LADDER = (rolls, looks_up, translates, appends, deletes)
"""The rungs in the order in which they are climbed."""
