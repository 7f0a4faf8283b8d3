"""The exercises of the lesson *Read*."""

import re

from minikafka.lab.exercises.exercise import Belief, Case, Exercise, answered_early
from minikafka.lab.exercises.solutions import read as solutions
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lab.stage.readers import log_after
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.witness.batch import Batch
from minikafka.witness.operations import AppendAsLeader, MaybeIncrementHighWatermark
from minikafka.witness.workload import START_MS, Workload

_TRANSACTIONS = ("read_committed",)


def workload_of(story: str, *last: str, config: str = "") -> Workload:
    """The workload of a story in few words, with the lines `last` at its end.

    `p3`: three plain records. `7:2`: producer 7 writes two in its transaction. `7-`, `7+`: its abort, its commit.
    `9=2`: producer 9 writes two without a transaction. `hw`: the high watermark goes to the log end.
    """
    lines, sequences = [f"config {config}"] if config else [], {}
    for word in story.split():
        if word == "hw":
            lines.append("maybe_increment_high_watermark leo")
        elif word.startswith("p"):
            lines.append(f"append_as_leader [{word[1:]}x10]")
        elif word[-1] in "+-":
            end = "commit" if word[-1] == "+" else "abort"
            lines.append(f"append_as_leader origin=coordinator transaction_version=0 [{end} pid={word[:-1]} epoch=0]")
        else:
            producer, kind, count = re.split("([:=])", word)
            sequence = sequences.get(producer, 0)
            sequences[producer] = sequence + int(count)
            transactional = " txn" if kind == ":" else ""
            lines.append(f"append_as_leader [{count}x10 pid={producer} epoch=0 seq={sequence}{transactional}]")
    return Workload.parse("\n".join([*lines, *last]))


def _offsets(observations, operation: int = -1) -> list[int]:
    """The offsets that a `consume` saw, of `0..4 7`."""
    number = len(observations) + operation if operation < 0 else operation
    found = []
    for first, last in re.findall(r"(\d+)(?:\.\.(\d+))?", observations.value(number, "result")):
        found += range(int(first), int(last or first) + 1)
    return found


# 1. Between high watermark and log end, by code


def _between(name: str, story: str, config: str = "") -> WitnessedCase:
    told = workload_of(story, "consume", "maybe_increment_high_watermark leo", "consume", config=config)
    log = log_after(workload_of(story, config=config))
    return WitnessedCase(
        name, (log,), told, lambda seen: len(_offsets(seen)) - len(_offsets(seen, -3)), _TRANSACTIONS
    )  # fmt: skip


def _one_read(log):
    batches = list(log.read(log.high_watermark, 1_048_576, FetchIsolation.LOG_END, True).records.batches())
    return sum(sum(1 for _ in batch) for batch in batches if not batch.is_control_batch)


def _batches_between(log):
    batches = [batch for segment in log.log_segments for batch in segment.log.batches()]
    return sum(batch.base_offset >= log.high_watermark for batch in batches)


between_code = Exercise(
    "Exercise 1, between high watermark and log end, by code",
    lambda: [
        _between("plain records", "p3 p2 hw p2 p3"),
        _between("two transactions end there", "p3 hw 7:2 8:3 7- p1 8+"),
        _between("four segments", "p3 p3 hw p3 7:3 7- p3 p3", "internal.segment.bytes=250"),
        _between("nothing waits", "p3 7:2 7+ hw"),
    ],
    judged_by_spark,
    solutions.messages_between,
    hints=[
        "Read with LOG_END from the high watermark on, and look at the batches of the answer.",
        "A read never goes beyond one segment. Go on from `batch.next_offset` until you are at the log end.",
        "A control batch (`batch.is_control_batch`) takes an offset and is no message.",
    ],
    beliefs=[
        Belief(
            lambda log: log.log_end_offset - log.high_watermark,
            "LEO − HW counts offsets. Markers take offsets too (and a compacted log has gaps): messages are fewer.",
        ),
        Belief(
            lambda log: max(log.log_end_offset - log.high_watermark - 1, 0),
            "You take the log end for the last record. It is the next offset, and the high watermark is the first that"
            " waits.",
        ),
        Belief(_one_read, "You read once. An answer holds batches of one segment only: the reader must ask again."),
        Belief(
            lambda log: 0,
            "From the high watermark on a consumer gets nothing. Read as a follower does, with LOG_END.",
        ),
        Belief(_batches_between, "You count batches. One batch holds several records."),
    ],
)


# 2. The same at every moment, in Spark


def _records(workload: Workload) -> list[tuple[int, int, bool, str | None]]:
    """(offset, producer, transactional, marker) of all records, in a log where each append is accepted."""
    rows = []
    for operation in workload:
        for batch in operation.batches if isinstance(operation, AppendAsLeader) else ():
            for _ in range(batch.count):
                rows.append((len(rows), batch.pid, batch.txn or batch.control, batch.marker or None))
    return rows


def _marks(workload: Workload) -> list[tuple[int, int, int]]:
    """(t, HW, LEO) after each operation t; the high watermark is only ever raised to the log end."""
    rows, high_watermark, end = [], 0, 0
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            end += sum(batch.count for batch in operation.batches)
        elif isinstance(operation, MaybeIncrementHighWatermark):
            high_watermark = end
        rows.append((t, high_watermark, end))
    return rows


def _waiting(name: str, story: str) -> WitnessedCase:
    workload = workload_of(story)
    marks = _marks(workload)
    rows = [(offset, marker is not None) for offset, _, _, marker in _records(workload)]
    arguments = (frame(rows, "offset BIGINT, control BOOLEAN"), frame(marks, "t BIGINT, hw BIGINT, leo BIGINT"))

    def answer(observations):
        messages = _offsets(observations)
        return [(t, sum(hw <= offset < leo for offset in messages)) for t, hw, leo in marks]

    told = workload_of(story, "maybe_increment_high_watermark leo", "consume")
    return WitnessedCase(name, arguments, told, answer, _TRANSACTIONS)


def _joined(records, marks, inside, keep=lambda count: True):
    messages = [row.offset for row in records.collect() if not row.control]
    rows = [(m.t, sum(inside(offset, m.hw, m.leo) for offset in messages)) for m in marks.orderBy("t").collect()]
    return [row for row in rows if keep(row[1])]


between_spark = Exercise(
    "Exercise 2, between high watermark and log end, in Spark",
    lambda: [
        _waiting("plain records", "p3 p2 hw p2 p3 hw"),
        _waiting("transactions", "p2 7:2 hw 7- 8:1 hw p3 8+ hw p1"),
        _waiting("nothing but markers wait", "7:3 8:2 hw 7- 8+"),
    ],
    judged_by_spark,
    solutions.messages_waiting,
    hints=[
        "Join each moment with the records whose offset lies between its two marks.",
        "Both marks are exclusive bounds of what is below them: offset >= hw AND offset < leo.",
        "A LEFT JOIN keeps the moments at which nothing waits; count a column of the right side, not `*`.",
    ],
    beliefs=[
        Belief(
            lambda records, marks: [(m.t, m.leo - m.hw) for m in marks.orderBy("t").collect()],
            "LEO − HW counts offsets, control records among them.",
        ),
        Belief(
            lambda records, marks: _joined(records, marks, lambda offset, hw, leo: hw <= offset <= leo),
            "BETWEEN takes in the log end. At that moment no record was there.",
        ),
        Belief(
            lambda records, marks: _joined(records, marks, lambda offset, hw, leo: hw < offset < leo),
            "You leave out the offset HW. It is the first that is not committed.",
        ),
        Belief(
            lambda records, marks: _joined(records, marks, lambda offset, hw, leo: hw <= offset < leo, bool),
            "You leave out the moments at which nothing waits. Keep them, with 0.",
        ),
        Belief(
            lambda records, marks: [
                (t, max(count, 1)) for t, count in as_rows(solutions.messages_waiting(records, marks))
            ],
            "count(*) counts the row that a LEFT JOIN makes of nothing. Count a column of the right side.",
        ),
    ],
    normal=as_rows,
)


# 3. What a read answers


def _read(counts, start, limit, bound, *, min_one=True) -> WitnessedCase:
    batches, base = [], 0
    for count in counts:
        batches.append((base, base + count - 1, Batch(count).size_in_bytes(START_MS)))
        base += count
    lines = [f"append_as_leader [{count}x10]" for count in counts] + [f"maybe_increment_high_watermark {bound}"]
    flag = str(min_one).lower()
    lines.append(f"read {start} max_length={limit} isolation=high_watermark min_one_message={flag}")
    name = (
        f"read({start}, {limit}, min_one_message={min_one}) below {bound} of batches with {', '.join(map(str, counts))}"
        " records"
    )

    def answer(observations):
        begins, size = re.match(r"(\d+).*?, (\d+) bytes", observations.value(len(observations) - 1, "result")).groups()
        return int(begins), int(size)

    return WitnessedCase(name, (batches, start, limit, min_one, bound), Workload.parse("\n".join(lines)), answer, ())


def _read_by_spark(case: Case) -> tuple[int, int]:
    """Set-wise: positions are running sums, the answer is the lesser of three lengths."""
    batches, start, limit, min_one, bound = case.arguments
    rows = frame(batches, "base BIGINT, last BIGINT, size BIGINT")
    found = rows.sparkSession.sql(
        """WITH placed AS (SELECT *, sum(size) OVER (ORDER BY base) - size AS position FROM {rows}),
                first AS (SELECT * FROM placed WHERE last >= {start} ORDER BY base LIMIT 1),
                room AS (SELECT sum(size) AS bytes FROM placed WHERE base >= (SELECT base FROM first) AND base < {bound})
           SELECT base, least(bytes, if({min_one}, greatest({limit}, size), {limit})) AS bytes FROM first CROSS JOIN room""",
        rows=rows, start=start, bound=bound, min_one=min_one, limit=limit,
    )  # fmt: skip
    return tuple(found.collect()[0])


def _whole_batches(batches, start, max_length, min_one_message, bound):
    first, limit = solutions.answer(batches, start, max_length, min_one_message, bound)
    total = 0
    for base, _, size in batches:
        if base >= first and total + size <= limit:
            total += size
    return first, total


def _whole_batches_but_the_first(batches, start, max_length, min_one_message, bound):
    first, size = solutions.answer(batches, start, max_length, min_one_message, bound)
    return first, _whole_batches(batches, start, max_length, min_one_message, bound)[1] or size


def _begins_behind(batches, start, max_length, min_one_message, bound):
    later = [batch for batch in batches if batch[0] >= start]
    return (
        solutions.answer(later, start, max_length, min_one_message, bound)
        if later and later[0][0] < bound
        else (start, 0)
    )


def _unbounded(batches, start, max_length, min_one_message, bound):
    return solutions.answer(batches, start, max_length, min_one_message, batches[-1][1] + 1)


def _one_batch_only(batches, start, max_length, min_one_message, bound):
    first, size = solutions.answer(batches, start, max_length, min_one_message, bound)
    return first, next(s for b, _, s in batches if b == first) if min_one_message else size


def _sent_empty(batches, start, max_length, min_one_message, bound):
    first, size = solutions.answer(batches, start, max_length, min_one_message, bound)
    return first, size if size >= next(s for b, _, s in batches if b == first) else 0


answered = Exercise(
    "Exercise 3, what a read answers",
    lambda: [
        _read((3, 5, 2, 4), 4, 1_000_000, 14),
        _read((3, 5, 2, 4), 0, 300, 14),
        _read((3, 5, 2, 4), 9, 40, 14),
        _read((3, 5, 2, 4), 9, 40, 14, min_one=False),
        _read((3, 5, 1, 4), 1, 1_000_000, 8),
        _read((3, 5, 2, 4), 2, 100, 3),
    ],
    _read_by_spark,
    solutions.answer,
    hints=[
        (
            "The first batch is the first one whose last offset is not below the start. The answer begins at its base"
            " offset."
        ),
        "From there the bytes up to the bound, or the limit if that is less. A batch at the end may be cut.",
        "With min_one_message the limit is at least the size of the first batch.",
    ],
    beliefs=[
        Belief(
            lambda batches, start, *rest: (start, solutions.answer(batches, start, *rest)[1]),
            "You begin at the start. A read begins with the whole batch that holds it (since 4.0 the metadata say so,"
            " too).",
        ),
        Belief(
            _whole_batches,
            "You end with a whole batch. Kafka counts bytes and cuts the last batch anywhere; the reader drops the rest"
            " of it.",
        ),
        Belief(
            _whole_batches_but_the_first,
            "You end with a whole batch where there is one. Kafka counts bytes and cuts the last batch anywhere, not"
            " only the first.",
        ),
        Belief(
            _begins_behind,
            "You begin with the first batch whose base offset is not below the start. The start may lie inside of the"
            " batch before: ask for its last offset.",
        ),
        Belief(
            lambda batches, start, limit, min_one, bound: solutions.answer(batches, start, limit, False, bound),
            "You keep to the limit always. With min_one_message the first batch comes whole, or a reader with a small"
            " limit would be stuck.",
        ),
        Belief(
            lambda batches, start, limit, min_one, bound: solutions.answer(batches, start, limit, min_one, bound + 1),
            "You take the bound in. It is exclusive: the batch that begins there is not sent.",
        ),
        Belief(
            _sent_empty,
            "You send nothing where the first batch is cut. The broker does so afterwards; the read answers with the"
            " bytes up to the limit.",
        ),
        Belief(_unbounded, "You read past the bound. A consumer gets nothing at or above its mark."),
        Belief(
            _one_batch_only,
            "min_one_message is a floor, not a ceiling: as many bytes as the limit allows, but at least that batch.",
        ),
    ],
)


# 4. What a read_committed consumer skips


def _batches_of(records) -> list[tuple[list[int], int, str]]:
    rows = []
    for batch in records.batches():
        found = list(batch)
        kind = "data"
        if batch.is_control_batch:
            kind = "commit" if found[0].key[3] else "abort"
        rows.append(([record.offset for record in found], batch.producer_id, kind))
    return rows


def _consumed(name: str, story: str, start: int = 0) -> WitnessedCase:
    """The answer to a read from `start`, which begins a batch, and what an application gets of it."""
    found = log_after(workload_of(story)).read(start, 1_048_576, FetchIsolation.TXN_COMMITTED, True)
    arguments = (_batches_of(found.records), [tuple(each) for each in found.aborted_transactions])

    def answer(observations):
        return [offset for offset in _offsets(observations) if offset >= start]

    return WitnessedCase(name, arguments, workload_of(story, "consume read_committed=true"), answer, _TRANSACTIONS)


def _all_data(batches, aborted):
    return [offset for offsets, _, kind in batches if kind == "data" for offset in offsets]


def _never_forgiven(batches, aborted):
    first = {producer: min(f for p, f in aborted if p == producer) for producer, _ in aborted}
    rows = [(o, p) for offsets, p, kind in batches if kind == "data" for o in offsets]
    return [offset for offset, producer in rows if producer not in first or offset < first[producer]]


def _from_its_first_offset_on(batches, aborted):
    """A transaction counts as aborted only if the batch with its first offset is there."""
    begun = {offsets[0] for offsets, _, _ in batches}
    return solutions.visible(batches, [(producer, first) for producer, first in aborted if first in begun])


def _first_batch_only(batches, aborted):
    firsts = {first for _, first in aborted}
    return [o for offsets, _, kind in batches if kind == "data" and offsets[0] not in firsts for o in offsets]


def _in_listed_order(batches, aborted):
    waiting, aborting, seen = list(aborted), set(), []
    for offsets, producer, kind in batches:
        while waiting and waiting[0][1] <= offsets[-1]:
            aborting.add(waiting.pop(0)[0])
        if kind == "abort":
            aborting.discard(producer)
        elif kind == "data" and producer not in aborting:
            seen += offsets
    return seen


def _markers_too(batches, aborted):
    control = [offset for offsets, _, kind in batches if kind != "data" for offset in offsets]
    return sorted(solutions.visible(batches, aborted) + control)


skipped = Exercise(
    "Exercise 4, what a read_committed consumer skips",
    lambda: [
        _consumed("one aborts, one commits", "p3 7:2 8:2 7- 8+ p2 hw"),
        _consumed("a producer aborts, then commits", "7:2 7:1 7- p1 7:2 7+ 7:1 7- hw"),
        _consumed("the one that began first ends last", "7:1 8:2 7:1 8- p1 7:2 7- 8:1 8+ hw"),
        _consumed("a read from the middle of a transaction", "p1 7:2 7:1 p1 7- p1 hw", start=3),
    ],
    judged_by_spark,
    solutions.visible,
    hints=[
        "Keep the set of producers that are in an aborted transaction right now, and walk the batches once.",
        "A producer enters the set at its first offset in the list, and leaves it at its abort marker.",
        "The list is in the order of the markers. Sort it by first offset.",
    ],
    beliefs=[
        Belief(
            _all_data,
            "You hand out aborted records. The broker sends them all; the list exists for the reader to skip them.",
        ),
        Belief(_never_forgiven, "You drop a producer for good. After its abort marker it may begin anew, and commit."),
        Belief(
            _from_its_first_offset_on,
            "You wait for the batch with the first offset on the list. A read may begin behind it, in the middle of the"
            " transaction.",
        ),
        Belief(
            _first_batch_only, "You skip one batch of each transaction. It lasts up to the producer's abort marker."
        ),
        Belief(
            lambda batches, aborted: solutions.visible(batches, list(dict(aborted).items())),
            "You keep one aborted transaction of each producer. It may have several on the list.",
        ),
        Belief(
            _in_listed_order, "You take the list as sorted by first offset. It is in the order of the abort markers."
        ),
        Belief(_markers_too, "You hand out markers. A control record is for the reader, not for the application."),
    ],
)


# 5. read_committed, in Spark


def _committed_case(name: str, story: str) -> WitnessedCase:
    rows = frame(
        _records(workload_of(story)), "offset BIGINT, producer BIGINT, transactional BOOLEAN, marker STRING"
    )  # fmt: skip
    return WitnessedCase(name, (rows,), workload_of(story, "consume read_committed=true"), _offsets, _TRANSACTIONS)


_FATES = """WITH fates AS (
    SELECT *, first_value(marker) IGNORE NULLS OVER (
        PARTITION BY producer ORDER BY offset ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
    FROM {records})
"""
_STABLE = "offset < (SELECT coalesce(min(offset), 9223372036854775807) FROM fates WHERE transactional AND fate IS NULL)"


def _by_fate(condition: str):
    return lambda records: records.sparkSession.sql(
        f"{_FATES}SELECT offset FROM fates WHERE marker IS NULL AND {condition} ORDER BY offset", records=records
    )


def _ids_for_transactions(records):
    """`committed_offsets` with every producer id taken for a transaction."""
    return solutions.committed_offsets(
        records.selectExpr("offset", "producer", "producer <> -1 AS transactional", "marker")
    )


def _by_last_marker(records):
    rows = records.orderBy("offset").collect()
    last = {row.producer: row.marker for row in rows if row.marker}
    right = as_rows(_by_fate(_STABLE)(records))
    kept = [row for row in rows if row.marker is None and (not row.transactional or last.get(row.producer) == "commit")]
    return [row.offset for row in kept if row.offset in right]


read_committed = Exercise(
    "Exercise 5, read_committed",
    lambda: [
        _committed_case("one aborts, one commits, one is open", "p3 7:2 8:2 7- 8+ p2 9:2 p2 hw"),
        _committed_case("committed behind an open transaction", "p1 7:1 8:2 8+ p1 hw"),
        _committed_case("a producer aborts, commits, aborts", "7:2 7- p1 7:2 7+ 7:1 7- p1 hw"),
        _committed_case("an idempotent producer without transactions", "9=2 p1 8:2 8+ 9=1 hw"),
    ],
    judged_by_spark,
    solutions.committed_offsets,
    hints=[
        "The fate of a record in a transaction is its producer's first marker behind it.",
        (
            "`first_value(marker) IGNORE NULLS OVER (PARTITION BY producer ORDER BY offset ROWS BETWEEN CURRENT ROW AND"
            " UNBOUNDED FOLLOWING)`."
        ),
        "Nothing at or above the first record whose fate is unknown is shown: that is the last stable offset.",
    ],
    beliefs=[
        Belief(
            _by_fate("(NOT transactional OR fate = 'commit')"),
            "You show records behind an open transaction. Below the last stable offset only: plain records wait there,"
            " too.",
        ),
        Belief(
            _ids_for_transactions,
            "You take every producer with an id for a transactional one. Idempotent producers have ids, too:"
            " `transactional` tells.",
        ),
        Belief(_by_last_marker, "You judge a producer by its last marker. Each transaction has a marker of its own."),
        Belief(
            _by_fate(f"transactional AND fate = 'commit' AND {_STABLE}"),
            "You leave out the plain records. read_committed shows them too, below the last stable offset.",
        ),
        Belief(
            _by_fate(f"NOT transactional AND {_STABLE}"),
            "You leave out committed transactions. What their producer's next marker commits is shown.",
        ),
        Belief(
            _by_fate(_STABLE),
            "You show aborted records. The last stable offset only says that their fate is known.",
        ),
    ],
    normal=as_rows,
)

EXERCISES = answered_early(between_code, between_spark, answered, skipped, read_committed)
