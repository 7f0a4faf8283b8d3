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
    why="Base offsets are file names. After one roll too early or too late, every later file has another name.",
    invariants=(
        "It changes nothing. It returns True if the append that `roll_params` describes needs a new segment.",
        "With this append a segment may become exactly segment.bytes large, but not larger.",
        "Age counts only if the segment is not empty. A segment that is exactly as old as the limit is not too old.",
        "Both indexes must have room for another entry. The append's last offset, relative to the base offset, must "
        "fit a signed 32-bit number.",
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
    also_asked=also_asked.with_a_jitter,
    returns=(bool,),
    changes_nothing=True,
    solution=should_roll,
    beliefs=(
        Belief(
            _rolls_for(*_ALL, full=lambda size, limit, incoming: size >= limit - incoming),
            "You roll if the append would fill the segment exactly. Kafka's rule is `size > segment.bytes - incoming`.",
        ),
        Belief(
            _rolls_for(*_ALL, full=lambda size, limit, incoming: size > limit),
            "You roll only after the append. Kafka decides before, and includes the append's own bytes.",
        ),
        Belief(_rolls_for("size"), "You roll for size only. There are five reasons; a full index is one of them."),
        Belief(
            _rolls_for("size", "indexes", "offsets"), "You forget the time: segment.ms ends a segment that is too old."
        ),
        Belief(
            _rolls_for("size", "time", "offsets"),
            "You forget the indexes: if one of them has no room for another entry, a new segment begins.",
        ),
        Belief(
            _rolls_for("size", "time", "indexes"),
            "You forget the offset: an index stores it relative to the base offset, as a signed 32-bit number.",
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
        "`self.offset_index.can_append_offset(roll_params.max_offset_in_messages)` is False if it is too far from "
        "the base.",
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
    why="Every read begins with this search. If it is wrong by one entry, the read is too long or misses the record.",
    invariants=(
        "It changes nothing.",
        "It returns the entry with the largest offset that is at or below the target.",
        "If there is no such entry, it returns the base offset at byte 0.",
        "It calls `entry(n)` only with n in 0 … entries - 1, both inclusive. A new index has no entries.",
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
        Belief(
            _lookup_exactly,
            "You look for an entry of exactly this offset. The index is sparse: most offsets have no entry.",
        ),
        Belief(
            _lookup_next,
            "You take the first entry at or above the target. Its batch may begin after the record that you look for.",
        ),
        Belief(
            _lookup_strictly_before,
            "You leave out an entry of exactly the target. An entry holds the last offset of its batch. So the "
            "record is in that batch, and not before it.",
        ),
        Belief(
            _lookup_from_zero,
            "If no entry fits, you return offset 0. The answer is the segment's base offset, at byte 0.",
        ),
        Belief(
            _lookup_relative,
            "You compare relative offsets with an absolute target. `entry(n).offset` is already absolute.",
        ),
    ),
    hints=(
        "`self.entries` is the number of entries. `self.entry(n)` is an OffsetPosition(offset, position) with an "
        "absolute offset.",
        "Use a binary search: keep `low` and `high` so that all entries below `low` are ≤ the target, and all from "
        "`high` on are above it.",
        "At the end the answer is `self.entry(low - 1)`, or `OffsetPosition(self.base_offset, 0)` if low is 0.",
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
    why="The index only gives a byte near the record. From there the search goes from batch to batch.",
    invariants=(
        "It changes nothing.",
        "It returns the place of the first batch whose last offset is at or above the target, or None if there is "
        "none.",
        "The search begins at the byte that the index gives, or at `starting_file_position` if that is larger. "
        "(Kafka's log always gives 0; your function is tested with other values, too.)",
        "The offset in the answer is the batch's base offset. It may be below or above the target.",
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
            "You look for a base offset at or above the target. So you skip the batch that contains the record.",
        ),
        Belief(
            _translate_beyond,
            "You skip a batch whose last offset is the target. Its last record is the one you look for.",
        ),
        Belief(
            _translate_to_the_asked,
            "You return the offset that was asked for. The answer has the base offset of the batch.",
        ),
        Belief(
            _translate_by_the_index,
            "You take the batch at the byte that the index gives. It may end before the record: go on from there.",
        ),
        Belief(
            _translate_without_a_start,
            "You ignore `starting_file_position`. The search must not begin before that byte.",
        ),
    ),
    hints=(
        "First `self.offset_index.lookup(offset).position`, then walk: `self.log.batches_from(position)`.",
        "A batch has `base_offset`, `last_offset`, `position` and `size_in_bytes`. Stop at the first batch whose "
        "last offset is at or above the target.",
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
    why="All records in a segment were written by this method, and so were most entries of its offset and time index.",
    invariants=(
        "Before it writes a byte it calls `self._ensure_offset_in_range(largest_offset)`, which raises if the offset "
        "is below the base offset or more than 2³¹ − 1 above it.",
        "A batch gets an entry if more than `index_interval_bytes` bytes were written since the last entry, without "
        "the batch itself. `self._bytes_since_last_index_entry` counts these bytes.",
        "The entry in the offset index has the batch's last offset, and the byte at which the batch begins.",
        "The entry in the time index has the largest timestamp so far, this batch included, and the last offset of "
        "the batch that brought it. Store both in `self._max_timestamp_and_offset_so_far`, as a `TimestampOffset`.",
        "Read them with `self.max_timestamp_so_far` and `self.read_max_timestamp_and_offset_so_far()`. In a segment "
        "that was just opened nothing is stored yet; then these two read the time index.",
        "If `records` has no bytes, it does nothing.",
    ),
    chosen=(
        "config index.interval.bytes=100\n"
        + "append_as_leader [1x10]\n" * 6
        + "append_as_leader [1x10 ts=now-9]\nappend_as_leader [2x10 ts=now+5]\nappend_as_leader [1x10]\nroll leo\n",
        "config index.interval.bytes=70\nappend_as_follower [2x10 offset=0] [1x10 offset=2] [3x10 offset=3]\n"
        "append_as_follower [1x10 offset=6] [1x10 offset=7]\n",
        # As many bytes as one of these batches has, and one less.
        *(f"config index.interval.bytes={size}\n" + "append_as_leader [1x10]\n" * 7 for size in (78, 77)),
        # The last offset of these batches is too far from the base offset, and nothing of them is written.
        "append_as_follower [1x10 offset=0] [1x10 offset=2147483648]\nappend_as_leader [1x10]\n",
    ),
    profiles=_DRAWN,
    returns=(type(None),),
    solution=append,
    beliefs=(
        Belief(
            _appends(due=lambda waiting, interval: waiting >= interval),
            "You write an entry after exactly index.interval.bytes bytes. There must be *more* bytes since the last "
            "entry.",
        ),
        Belief(
            _appends(counts_first=True),
            "You count a batch before you decide about its entry. So the first batch of a segment may get an entry. "
            "That entry is useless: without any entry a search begins at byte 0 anyway.",
        ),
        Belief(
            _appends(key=lambda batch, first: batch.base_offset),
            "Your entries have the batch's base offset. Kafka's entries have its last offset.",
        ),
        Belief(
            _appends(place=lambda before, batch: before + batch.size_in_bytes),
            "Your entries have the byte after the batch. A search that starts there misses the batch.",
        ),
        Belief(
            _appends(of_the_append=True),
            "Your entries have the last offset of all batches appended together, as in Kafka up to 3.9.0, and in "
            "4.0.0.",
        ),
        Belief(_appends(minds_times=False), "You forget the time index, and the largest timestamp for its entries."),
    ),
    hints=(
        "The order: check the offset, remember `self.size`, call `self.log.append(records)`, then go from batch to "
        "batch.",
        "For each batch: first the largest timestamp, then the decision about an entry, then count its bytes.",
        "`self.offset_index.append(batch.last_offset, position)` and "
        "`self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())`. Then set the count to 0.",
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
    why="Kafka deletes every segment that this method returns. It is called once for each rule of retention.",
    invariants=(
        "It changes nothing. `should_delete(segment, next_segment)` is the rule; for the last segment `next_segment` "
        "is None.",
        "It calls the rule from the oldest segment on. The returned segments are the oldest ones, without a gap.",
        "A segment is returned only if all its offsets are below the high watermark.",
        "An empty last segment stays, but the rule is called for it, too: the rule by time opens the time index, and "
        "this creates the index file.",
    ),
    chosen=(
        "config internal.segment.bytes=250 retention.bytes=0\n"
        + "append_as_leader [3x10]\n" * 6
        + "update_high_watermark 7\ndelete_old_segments\nupdate_high_watermark leo\ndelete_old_segments\n"
        "delete_old_segments\n",
        "config retention.ms=1000 internal.segment.bytes=120\nappend_as_leader [1x40 ts=now-5000]\n"
        "append_as_leader [1x40]\nappend_as_leader [1x40 ts=now-5000]\nupdate_high_watermark leo\ndelete_old_segments\n"
        "tick 2000\ndelete_old_segments\n",
        # The first segment is empty, and not the last one.
        "config retention.bytes=0\nroll 5\nappend_as_follower [1x10 offset=5]\nupdate_high_watermark leo\n"
        "delete_old_segments\n",
    ),
    profiles=({}, {"epochs": True}, {"weights": {"retention": 20}}, {"weights": {"retention": 20}}),
    returns=(list,),
    solution=deletable_segments,
    beliefs=(
        Belief(
            _deletes(minds_the_mark=False),
            "You delete records that are not replicated yet. All offsets of a segment must be below the high "
            "watermark.",
        ),
        Belief(
            _deletes(stops=False),
            "You skip a segment that stays and delete younger ones. That leaves a hole in the log.",
        ),
        Belief(
            _deletes(keeps_the_active=True),
            "You always keep the last segment. Kafka deletes it, too, after it has begun a new one.",
        ),
        Belief(
            _deletes(keeps_the_empty=False),
            "You delete an empty last segment. That gains nothing, and Kafka would create a new one each time.",
        ),
        Belief(
            _deletes(asks_about_the_empty=False),
            "You do not call the rule for an empty last segment. Kafka calls it first: the rule by time opens the "
            "time index, and this creates the index file.",
        ),
    ),
    hints=(
        "Go through `self.log_segments` in pairs: each segment and the next one. For the last segment the next one "
        "is None.",
        "A segment ends where the next one begins; the last one ends at `self.log_end_offset`. Compare this end with "
        "`self.high_watermark`.",
        "Stop at the first segment that stays. Check in this order: its end is above the high watermark; the rule "
        "says no; it is the last one and empty.",
    ),
)

LADDER = (rolls, looks_up, translates, appends, deletes)
"""The rungs in the order in which they are climbed."""
