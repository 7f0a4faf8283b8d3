"""The exercises of the lesson *Segments*."""

from minikafka.lab.exercises.exercise import Belief, Exercise, answered_early
from minikafka.lab.exercises.solutions import segments as solutions
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.witness.batch import Batch
from minikafka.witness.workload import START_MS, Workload

DAY = 86_400_000


def _bases(observations, operation: int = -1) -> list[int]:
    operation = len(observations) + operation if operation < 0 else operation
    return [base for base, _ in observations.value(operation, "segments")]


def _deleted(observations) -> list[int]:
    """The base offsets that the last operation took away."""
    after = _bases(observations)
    return [base for base in _bases(observations, -2) if base not in after]


def _bytes(count: int, size: int = 10) -> int:
    """The bytes of a batch of `count` records with values of `size` bytes."""
    return Batch(count, size).size_in_bytes(START_MS)


# 1. Rolling


def _appends(counts, *, start: int, limit: int) -> WitnessedCase:
    lines = [f"config internal.segment.bytes={limit}"]
    lines += [f"truncate_fully_and_start_at {start}"] if start else []
    lines += [f"append_as_leader [{count}x10]" for count in counts]
    sizes = [(count, _bytes(count)) for count in counts]
    name = f"{len(counts)} appends from offset {start}, segment.bytes {limit}"
    return WitnessedCase(name, (start, sizes, limit), Workload.parse("\n".join(lines)), _bases)


def _roll_when_exactly_full(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size and size >= segment_bytes - bytes_:
            bases.append(log_end)
            size = 0
        size, log_end = size + bytes_, log_end + count
    return bases


def _roll_even_when_empty(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size >= segment_bytes - bytes_:
            bases.append(log_end)
            size = 0
        size, log_end = size + bytes_, log_end + count
    return bases


def _roll_once_and_for_all(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size > segment_bytes - bytes_:
            bases.append(log_end)
        size, log_end = size + bytes_, log_end + count
    return bases


def _roll_after_overflow(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size > segment_bytes:
            bases.append(log_end)
            size = 0
        size, log_end = size + bytes_, log_end + count
    return bases


def _never_rolls(first_offset, appends, segment_bytes):
    return [first_offset]


def _rolled_batch_not_counted(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size > segment_bytes - bytes_:
            bases.append(log_end)
            size = 0
        else:
            size += bytes_
        log_end += count
    return bases


def _base_is_the_last_offset(first_offset, appends, segment_bytes):
    right = solutions.base_offsets(first_offset, appends, segment_bytes)
    return right[:1] + [base - 1 for base in right[1:]]


rolling = Exercise(
    "Exercise 1, rolling",
    lambda: [
        _appends((3, 5, 2, 10), start=10, limit=353),
        _appends((5, 5, 5), start=0, limit=146),
        _appends((1, 9, 2, 2, 7, 1, 1, 8, 3), start=100, limit=400),
    ],
    judged_by_spark,
    solutions.base_offsets,
    hints=[
        "Carry two numbers from append to append: the bytes in the active segment, and the log end offset.",
        "Kafka asks before it writes: is what is there more than the limit less what comes? `size > limit - incoming`.",
        "A new segment begins at the log end offset, and its size starts from 0.",
    ],
    beliefs=[
        Belief(
            _roll_when_exactly_full,
            "You roll when a batch would fill the segment exactly. Kafka asks `size > segment.bytes - incoming`:"
            " a segment may be exactly full.",
        ),
        Belief(
            _roll_even_when_empty,
            "You roll when a batch would fill the segment exactly, even an empty one, which leaves two segments with"
            " the same base. Kafka asks `size > segment.bytes - incoming`.",
        ),
        Belief(
            _roll_once_and_for_all,
            "You go on counting after a roll. A new segment is empty: its size starts from 0.",
        ),
        Belief(
            _roll_after_overflow,
            "You let the batch in and roll afterwards. Kafka rolls first: no segment grows past segment.bytes.",
        ),
        Belief(_never_rolls, "You never roll. A batch that does not fit any more begins a new segment."),
        Belief(
            _rolled_batch_not_counted,
            "You don't count the batch that begins a segment. Its bytes lie in there as well.",
        ),
        Belief(
            _base_is_the_last_offset,
            "Your new segments begin at the last offset that was written. A segment begins at the log end offset,"
            " the next one to be written.",
        ),
    ],
)


# 2. The sparse index


def _indexed(counts, *, start: int, interval: int) -> WitnessedCase:
    lines = [f"config index.interval.bytes={interval}"]
    lines += [f"truncate_fully_and_start_at {start}"] if start else []
    lines += [f"append_as_leader [{count}x10]" for count in counts]
    batches, log_end = [], start
    for count in counts:
        log_end += count
        batches.append((log_end - 1, _bytes(count)))

    def entries(observations):
        found = observations.value(len(observations) - 1, "index_entries")
        return [(offset - start, position) for offset, position in found]

    name = f"{len(counts)} batches from offset {start}, index.interval.bytes {interval}"
    return WitnessedCase(name, (start, batches, interval), Workload.parse("\n".join(lines)), entries)


def _index_absolute(base_offset, batches, interval):
    return [
        (relative + base_offset, position)
        for relative, position in solutions.index_entries(base_offset, batches, interval)
    ]


def _index_first_offsets(base_offset, batches, interval):
    starts = {0: base_offset}
    position = 0
    for last_offset, bytes_ in batches:
        position += bytes_
        starts[position] = last_offset + 1
    return [
        (starts[position] - base_offset, position)
        for _, position in solutions.index_entries(base_offset, batches, interval)
    ]


def _index_counts_itself(base_offset, batches, interval):
    entries, since_entry, position = [], 0, 0
    for last_offset, bytes_ in batches:
        since_entry += bytes_
        if since_entry > interval:
            entries.append((last_offset - base_offset, position))
            since_entry = 0
        position += bytes_
    return entries


def _index_at_the_interval(base_offset, batches, interval):
    return solutions.index_entries(base_offset, batches, interval - 1)


def _index_batch_ends(base_offset, batches, interval):
    ends, position = {}, 0
    for _, bytes_ in batches:
        ends[position] = position + bytes_
        position += bytes_
    return [(relative, ends[at]) for relative, at in solutions.index_entries(base_offset, batches, interval)]


def _index_never_counts_anew(base_offset, batches, interval):
    entries, position = [], 0
    for last_offset, bytes_ in batches:
        if position > interval:
            entries.append((last_offset - base_offset, position))
        position += bytes_
    return entries


def _index_forgets_the_indexed(base_offset, batches, interval):
    entries, since_entry, position = [], 0, 0
    for last_offset, bytes_ in batches:
        if since_entry > interval:
            entries.append((last_offset - base_offset, position))
            since_entry = 0
        else:
            since_entry += bytes_
        position += bytes_
    return entries


def _index_every_batch(base_offset, batches, interval):
    return _index_first_batch_too(base_offset, batches)


def _index_first_batch_too(base_offset, batches):
    positions = [sum(size for _, size in batches[:i]) for i in range(len(batches))]
    return [(last - base_offset, position) for (last, _), position in zip(batches, positions, strict=True)]


sparse_index = Exercise(
    "Exercise 2, the sparse index",
    lambda: [
        _indexed((3, 3, 3, 3, 3, 3, 3, 3), start=0, interval=2 * _bytes(3)),
        _indexed((1, 2, 3, 4, 5, 6, 7, 8), start=40, interval=224),
        _indexed((10, 1, 1, 1, 10, 1), start=1000, interval=100),
    ],
    judged_by_spark,
    solutions.index_entries,
    hints=[
        "Count the bytes since the last entry; the count starts at 0, so the first batch can't have an entry.",
        "The question `since_entry > interval` comes before this batch's own bytes are counted.",
        "An entry is (last offset of the batch - base offset, position at which the batch begins).",
    ],
    beliefs=[
        Belief(
            _index_absolute,
            "Your index holds absolute offsets. It holds offsets relative to the segment's base: 4 bytes.",
        ),
        Belief(
            _index_first_offsets,
            "You name each batch by its first offset. Since Kafka 2.0 an entry holds the last one.",
        ),
        Belief(
            _index_batch_ends,
            "You note where a batch ends. An entry has the position at which the batch begins: a reader starts there.",
        ),
        Belief(
            _index_never_counts_anew,
            "You never count anew: from the first entry on, each batch gets one. After an entry the count starts"
            " from 0.",
        ),
        Belief(
            _index_counts_itself,
            "You count a batch before you ask. Kafka asks first: only bytes before the batch count.",
        ),
        Belief(
            _index_at_the_interval,
            "You write an entry at exactly index.interval.bytes. There must be more bytes than that: `>`.",
        ),
        Belief(
            _index_forgets_the_indexed,
            "You leave out the bytes of a batch that got an entry. The count starts again from 0, then that batch is"
            " counted.",
        ),
        Belief(
            _index_every_batch, "You index every batch. The index is sparse: one entry for each index.interval.bytes."
        ),
    ],
)


# 3. Retention by size, in Spark

_SPARED = "You never delete the active segment. When all may go, Kafka rolls a new one and lets all of them go."


def _sized(sizes, limit: int) -> WitnessedCase:
    lines = [f"config retention.bytes={limit} retention.ms=-1"]
    for number, size in enumerate(sizes):
        lines += ["roll"] if number else []
        lines += [f"append_as_leader [2x{size}]"]
    lines += ["update_high_watermark leo", "delete_old_segments"]
    rows = [(number * 2, _bytes(2, size)) for number, size in enumerate(sizes)]
    segments = frame(rows, "base BIGINT, size BIGINT")
    name = f"segments of {', '.join(str(size) for _, size in rows)} bytes, retention.bytes {limit}"
    return WitnessedCase(name, (segments, limit), Workload.parse("\n".join(lines)), _deleted)


def _until_below_the_limit(segments, retention_bytes):
    rows = [tuple(row) for row in segments.orderBy("base").collect()]
    rest, gone = sum(size for _, size in rows), []
    for base, size in rows:
        if retention_bytes < 0 or rest <= retention_bytes:
            break
        rest -= size
        gone.append(base)
    return gone


def _rest_above_the_limit(segments, retention_bytes):
    rows = [tuple(row) for row in segments.orderBy("base").collect()]
    rest, gone = sum(size for _, size in rows), []
    for base, size in rows:
        rest -= size
        if retention_bytes < 0 or rest <= retention_bytes:
            break
        gone.append(base)
    return gone


def _spares_the_last(right):
    """What `right` answers, without the active segment, the last one."""

    def answer(segments, *limits):
        newest = max(row.base for row in segments.collect())
        return [base for base in as_rows(right(segments, *limits)) if base != newest]

    return answer


def _no_limit_is_a_limit(segments, retention_bytes):
    rows = [tuple(row) for row in segments.orderBy("base").collect()]
    total = sum(size for _, size in rows)
    return [base for i, (base, _) in enumerate(rows) if total - sum(s for _, s in rows[: i + 1]) >= retention_bytes]


by_size = Exercise(
    "Exercise 3, retention by size",
    lambda: [
        _sized((100, 200, 300), 600),
        _sized((100, 100, 100, 100), _bytes(2, 100) * 2),
        _sized((80, 80), 0),
        _sized((80, 80, 80), -1),
    ],
    judged_by_spark,
    solutions.deletable_by_size,
    hints=[
        "For each segment: how many bytes would stay if it and all older ones went? Two window sums tell.",
        "`sum(size) OVER ()` is the whole log, `sum(size) OVER (ORDER BY base)` what goes with this segment.",
        "A segment may go while the rest is still >= the limit; a limit below 0 is no limit.",
    ],
    beliefs=[
        Belief(
            _until_below_the_limit,
            "You delete until the log fits under the limit. retention.bytes is what is kept at least:"
            " a segment goes only while the rest still has that many bytes.",
        ),
        Belief(
            _rest_above_the_limit,
            "You keep a segment when the rest would be exactly the limit. The rule is rest >= limit.",
        ),
        Belief(_no_limit_is_a_limit, "You took −1 for a number of bytes. It means that there is no limit."),
        Belief(_spares_the_last(solutions.deletable_by_size), _SPARED),
    ],
    normal=as_rows,
)


# 4. Retention by time, in Spark


def _aged(ages, retention_ms: int) -> WitnessedCase:
    lines = [f"config retention.ms={retention_ms} message.timestamp.before.max.ms={1 << 62}"]
    for number, age in enumerate(ages):
        lines += ["roll"] if number else []
        lines += [f"append_as_leader [2x10 ts=now-{age + 5},now-{age}]"]
    lines += ["update_high_watermark leo", "delete_old_segments"]
    rows = [(number * 2, START_MS - age) for number, age in enumerate(ages)]
    segments = frame(rows, "base BIGINT, largest_timestamp BIGINT")
    limit = f"{retention_ms / DAY:g} days" if retention_ms > 0 else f"{retention_ms} ms"
    name = f"segments aged {', '.join(f'{age / DAY:g}' for age in ages)} days, retention {limit}"
    return WitnessedCase(name, (segments, START_MS, retention_ms), Workload.parse("\n".join(lines)), _deleted)


def _each_for_itself(segments, now, retention_ms):
    rows = segments.orderBy("base").collect()
    return [row.base for row in rows if retention_ms >= 0 and now - row.largest_timestamp > retention_ms]


def _expired_at_the_limit(segments, now, retention_ms):
    gone = []
    for row in segments.orderBy("base").collect():
        if retention_ms < 0 or now - row.largest_timestamp < retention_ms:
            break
        gone.append(row.base)
    return gone


def _no_limit_is_an_age(segments, now, retention_ms):
    gone = []
    for row in segments.orderBy("base").collect():
        if now - row.largest_timestamp <= retention_ms:
            break
        gone.append(row.base)
    return gone


def _the_oldest_only(segments, now, retention_ms):
    return as_rows(solutions.deletable_by_time(segments, now, retention_ms))[:1]


def _nothing_if_nothing_stays(segments, now, retention_ms):
    gone = as_rows(solutions.deletable_by_time(segments, now, retention_ms))
    return gone if len(gone) < segments.count() else []


by_time = Exercise(
    "Exercise 4, retention by time",
    lambda: [
        _aged((10 * DAY, 1 * DAY, 9 * DAY, 0), 7 * DAY),
        _aged((8 * DAY, 7 * DAY, 0), 7 * DAY),
        _aged((30 * DAY, 20 * DAY, 10 * DAY), 7 * DAY),
        _aged((9 * DAY, 1 * DAY), -1),
    ],
    judged_by_spark,
    solutions.deletable_by_time,
    hints=[
        "A segment is expired when now - its largest timestamp > retention.ms.",
        "The walk stops at the first segment that stays: all older ones must be expired too.",
        "`bool_and(…) OVER (ORDER BY base)` is true as long as every row so far was.",
    ],
    beliefs=[
        Belief(
            _each_for_itself,
            "You judge each segment for itself. The walk goes from the oldest and stops at the first that stays:"
            " an expired segment behind it waits.",
        ),
        Belief(_expired_at_the_limit, "You let a segment go at exactly retention.ms. It must be older than that: `>`."),
        Belief(_spares_the_last(solutions.deletable_by_time), _SPARED),
        Belief(_the_oldest_only, "You delete one segment. All that are expired go, up to the first that stays."),
        Belief(
            _nothing_if_nothing_stays,
            "When all are expired you delete none (in SQL, what is compared with the minimum of no rows is null). All"
            " of them go.",
        ),
        Belief(_no_limit_is_an_age, "You took −1 for a number of milliseconds. It means that there is no limit."),
    ],
    normal=as_rows,
)

EXERCISES = answered_early(rolling, sparse_index, by_size, by_time)
