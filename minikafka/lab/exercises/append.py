"""The exercises of the lesson *Append*."""

from minikafka.lab.exercises.exercise import Belief, Exercise, answered_early
from minikafka.lab.exercises.solutions import append as solutions
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.witness.dataframes import batches_frame
from minikafka.witness.observation import Observations
from minikafka.witness.operations import AppendAsLeader
from minikafka.witness.workload import START_MS, Workload

# 1. The offsets that a leader gives, in Spark


def _accepted(name: str, text: str, limit: int) -> WitnessedCase:
    workload = Workload.parse(f"config max.message.bytes={limit}\n{text}")
    rows = []
    for t, append in workload.appends:
        first = append.batches[0]
        base = first.offset.distance if first.offset else 0
        size = max(batch.size_in_bytes(START_MS) for batch in append.batches)
        count = sum(batch.count for batch in append.batches)
        rows.append((t, len(append.batches), base, count, size, first.damage != "crc"))

    def answer(observations: Observations) -> list[tuple[int, int | None]]:
        ends = [0, *observations.column("log_end_offset")]
        return [(t, ends[t] if ends[t + 1] > ends[t] else None) for t, _ in workload.appends]

    table = frame(rows, "t BIGINT, batches BIGINT, base_offset BIGINT, records BIGINT, bytes BIGINT, crc_ok BOOLEAN")
    return WitnessedCase(name, (table, limit), workload, answer, ("log_end_offset",))


def _records_accepted(row, accepted: bool) -> int:
    return row.records if accepted else 0


def _offsets_given(appends, accepts, step=_records_accepted) -> list[tuple[int, int | None]]:
    """First offsets when `accepts(row)` decides, and the end moves by `step(row, accepted)`."""
    end, given = 0, []
    for row in appends.orderBy("t").collect():
        accepted = accepts(row)
        given.append((row.t, end if accepted else None))
        end += step(row, accepted)
    return given


def _sound(row, limit: int) -> bool:
    return row.batches == 1 and row.base_offset == 0 and row.crc_ok and row.bytes <= limit


def _by_the_rules(appends, limit: int) -> list[tuple[int, int | None]]:
    return _offsets_given(appends, lambda row: _sound(row, limit))


first_offsets = Exercise(
    "Exercise 1, the offsets that a leader gives",
    lambda: [
        _accepted("sound batches", "append_as_leader [3x10]\nappend_as_leader [5x10]\nappend_as_leader [2x10]", 1000),
        _accepted(
            "a flipped bit, a base offset, a batch of exactly max.message.bytes",
            "append_as_leader [2x10]\nappend_as_leader [2x10 damage=crc]\nappend_as_leader [1x32]\n"
            "append_as_leader [1x33]\nappend_as_leader [2x5 offset=3]\nappend_as_leader [2x5]",
            100,
        ),
        _accepted(
            "two batches in one append",
            "append_as_leader [4x5]\nappend_as_leader [1x5] [1x5]\nappend_as_leader [4x5]",
            1000,
        ),
    ],
    judged_by_spark,
    solutions.offsets_given,
    hints=[
        "First a column that says whether the append is accepted; then a running sum over the accepted ones.",
        "Accepted: one batch, base offset 0, CRC right, bytes not above the limit (equal is fine).",
        "First offset = records accepted *before* this row: ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING.",
    ],
    beliefs=[
        Belief(
            lambda appends, limit: _offsets_given(appends, lambda row: _sound(row, limit), lambda row, _: row.records),
            "Refused batches use up offsets in your log. LEO moves only when something was written: a refused append"
            " leaves no hole.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(appends, lambda row: _sound(row, limit - 1)),
            "You refuse a batch of exactly max.message.bytes. The limit is inclusive.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends, lambda row: _sound(row, limit), lambda row, accepted: 1 if accepted else 0
            ),
            "You give an offset to each batch. Every record has its own offset: LEO moves by the number of records.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.base_offset == 0 and row.crc_ok and row.bytes <= limit,
            ),
            "You take two batches from a producer in one append. Since magic 2 the leader's validator wants exactly"
            " one.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.batches == 1 and row.crc_ok and row.bytes <= limit,
            ),
            "You take a client's batch that begins at another offset than 0. Offsets are the leader's to give: it is"
            " refused.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.batches == 1 and row.base_offset == 0 and row.bytes <= limit,
            ),
            "You take a batch whose CRC is wrong. It is refused with CorruptRecordException.",
        ),
        Belief(
            lambda appends, limit: _offsets_given(
                appends,
                lambda row: row.batches == 1 and row.base_offset == 0 and row.crc_ok,
            ),
            "You take a batch of any size. Above max.message.bytes it is refused.",
        ),
        Belief(
            lambda appends, limit: [(t, first or None) for t, first in _by_the_rules(appends, limit)],
            "You give null to the first batch: a sum over no rows is null in SQL. The log begins at 0 (coalesce).",
        ),
        Belief(
            lambda appends, limit: [row for row in _by_the_rules(appends, limit) if row[1] is not None],
            "You leave refused appends out. Each has a row, with null for the first offset.",
        ),
        Belief(
            lambda appends, limit: [
                (t, None if first is None else first + row.records)
                for (t, first), row in zip(_by_the_rules(appends, limit), appends.orderBy("t").collect(), strict=True)
            ],
            "You give LEO after the append. The first offset is LEO before it: sum the records of the earlier rows"
            " only.",
        ),
    ],
    normal=as_rows,
)


# 2. A producer's sequences


def _sequences(name: str, *batches: tuple[int, int, int]) -> WitnessedCase:
    lines = [f"append_as_leader [{count}x10 pid=7 epoch={epoch} seq={first}]" for epoch, first, count in batches]

    def answer(observations: Observations) -> list[int | str]:
        pairs = zip(observations.column("error"), observations.column("result"), strict=True)
        return [error or int(result.split("..")[0]) for error, result in pairs]

    return WitnessedCase(f"{name}: {list(batches)}", (list(batches),), Workload.parse("\n".join(lines)), answer)


_STATE = (
    "epoch BIGINT, last BIGINT, leo BIGINT, recent ARRAY<STRUCT<first BIGINT, last BIGINT, offset BIGINT>>, answers"
    " ARRAY<STRING>"
)
_SEQUENCES = f"""
SELECT explode(aggregate(
  incoming,
  from_json('{{{{"epoch": -1, "last": -1, "leo": 0, "recent": [], "answers": []}}}}', '{_STATE}'),
  (s, b) -> CASE
    WHEN b.epoch = s.epoch AND exists(s.recent, r -> r.first = b.first AND r.last = b.last) THEN
      named_struct('epoch', s.epoch, 'last', s.last, 'leo', s.leo, 'recent', s.recent, 'answers', s.answers ||
        array(string(filter(s.recent, r -> r.first = b.first AND r.last = b.last)[0].offset)))
    WHEN b.epoch < s.epoch THEN
      named_struct('epoch', s.epoch, 'last', s.last, 'leo', s.leo, 'recent', s.recent, 'answers', s.answers ||
        array('InvalidProducerEpochException'))
    WHEN s.epoch <> -1 AND b.first <> IF(b.epoch = s.epoch, s.last + 1, 0) THEN
      named_struct('epoch', s.epoch, 'last', s.last, 'leo', s.leo, 'recent', s.recent, 'answers', s.answers ||
        array('OutOfOrderSequenceException'))
    ELSE
      named_struct('epoch', b.epoch, 'last', b.last, 'leo', s.leo + b.records, 'recent',
        reverse(slice(reverse(IF(b.epoch = s.epoch, s.recent, filter(s.recent, r -> false)) ||
                              array(named_struct('first', b.first, 'last', b.last, 'offset', s.leo))), 1, 5)),
        'answers', s.answers || array(string(s.leo)))
  END,
  s -> s.answers)) AS answer
FROM (SELECT array_sort(collect_list(struct(op, producer_epoch AS epoch, base_sequence AS first,
                                            base_sequence + records - 1 AS last, records))) AS incoming FROM {{batches}})
"""


def _judged_by_a_fold(case: WitnessedCase) -> list[int | str]:
    """What Spark makes of the batches alone: a fold that carries epoch, last sequence and the last five batches."""
    from minikafka.spark import session

    spark = session()
    rows = spark.sql(_SEQUENCES, batches=batches_frame(case.workload, spark)).collect()
    return [int(row.answer) if row.answer.isdigit() else row.answer for row in rows]


def _answers(batches, *, remembered: int = 5, refuses_duplicates: bool = False, writes_duplicates: bool = False,
             new_epoch_goes_on: bool = False, unknown_begins_at_0: bool = False, by_first_sequence: bool = False,
             through_epochs: bool = False, refused_epoch_stays: bool = False) -> list[int | str]:  # fmt: skip
    """The answers by Kafka's rules, or with one of them bent."""
    log_end, known_epoch, last, recent, answers = 0, None, -1, [], []
    for epoch, first, count in batches:
        same = epoch == known_epoch
        alike = [(f == first and (c == count or by_first_sequence), offset) for f, c, offset in recent]
        found = [offset for is_alike, offset in alike if is_alike and (same or through_epochs)]
        expected = last + 1 if same or new_epoch_goes_on else 0
        if found and not writes_duplicates:
            answers.append("OutOfOrderSequenceException" if refuses_duplicates else found[0])
        elif known_epoch is not None and epoch < known_epoch:
            answers.append("InvalidProducerEpochException")
        elif (known_epoch is not None or unknown_begins_at_0) and first != expected and not found:
            answers.append("OutOfOrderSequenceException")
            known_epoch = epoch if refused_epoch_stays else known_epoch
        else:
            answers.append(log_end)
            recent = [*(recent if same or through_epochs else []), (first, count, log_end)][-remembered:]
            known_epoch, last, log_end = epoch, first + count - 1, log_end + count
    return answers


sequences = Exercise(
    "Exercise 2, a producer's sequences",
    lambda: [
        _sequences("a retry", (0, 0, 3), (0, 3, 2), (0, 3, 2), (0, 5, 1)),
        _sequences("a gap, then what was missing", (0, 0, 2), (0, 4, 2), (0, 2, 2), (0, 4, 2)),
        _sequences("the sixth batch back", *[(0, n, 1) for n in range(6)], (0, 1, 1), (0, 0, 1)),
        _sequences("a new epoch, then the old one", (0, 0, 2), (0, 2, 2), (1, 4, 1), (1, 0, 1), (0, 4, 1), (1, 1, 2)),
        _sequences("a producer that the log has never seen", (3, 40, 2), (3, 42, 1), (3, 40, 2)),
        _sequences("the same first sequence, another length", (0, 0, 2), (0, 0, 3)),
        _sequences("the same sequences in a new epoch", (0, 0, 2), (1, 0, 2)),
        _sequences("a refused batch of a new epoch", (0, 0, 2), (1, 4, 1), (0, 2, 1)),
    ],
    _judged_by_a_fold,
    solutions.answers_to,
    hints=[
        "Carry the epoch, the last sequence, the log end, and the last five batches with their first offsets.",
        "The order of questions: one of the five, exactly? An older epoch? The sequence that was to come?",
        (
            "In a new epoch the sequence to come is 0, and the memory of batches is empty. A producer never seen may"
            " begin anywhere."
        ),
    ],
    beliefs=[
        Belief(
            lambda batches: _answers(batches, refuses_duplicates=True),
            "You refuse a retry. The producer only lost the answer: it gets the offset of the first time, as a"
            " success.",
        ),
        Belief(
            lambda batches: _answers(batches, writes_duplicates=True),
            "You write a retry again. Then the record is in the log twice, which sequences are there to prevent.",
        ),
        Belief(
            lambda batches: _answers(batches, remembered=1),
            "You remember one batch. A producer may have five requests in flight, so the log remembers five batches.",
        ),
        Belief(
            lambda batches: _answers(batches, remembered=1_000_000),
            "You remember more than five batches. The log keeps the last five of a producer; an older one is out of"
            " order.",
        ),
        Belief(
            lambda batches: _answers(batches, remembered=4),
            "You remember four batches. A producer may have five requests in flight: the oldest of five may come"
            " again.",
        ),
        Belief(
            lambda batches: _answers(batches, by_first_sequence=True),
            "You know a retry by its first sequence. First and last must be those of a remembered batch: another length"
            " is no retry.",
        ),
        Belief(
            lambda batches: _answers(batches, through_epochs=True),
            "You remember batches of an older epoch. With a new epoch the memory is empty: the same sequences are other"
            " records.",
        ),
        Belief(
            lambda batches: _answers(batches, new_epoch_goes_on=True),
            "Your sequences go on in a new epoch. A new epoch begins at sequence 0 again.",
        ),
        Belief(
            lambda batches: _answers(batches, refused_epoch_stays=True),
            "Your refused batch leaves its epoch behind. A refusal changes nothing of what the log knows of a producer:"
            " the old epoch goes on.",
        ),
        Belief(
            lambda batches: _answers(batches, unknown_begins_at_0=True),
            "You want an unknown producer to begin at 0. It may begin anywhere: what the log knew of it may have been"
            " deleted.",
        ),
    ],
)


# 3. The last stable offset, in Spark


def _stable(name: str, text: str) -> WitnessedCase:
    workload = Workload.parse(text)
    events, marks, end, mark = [], [], 0, 0
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            batch = operation.batches[0]
            kind = batch.marker or ("data" if batch.txn else "plain")
            events.append((t, batch.pid if batch.pid >= 0 else None, kind, end, end + batch.count - 1))
            end += batch.count
        else:
            mark = end
        marks.append((t, mark))

    def answer(observations: Observations) -> list[tuple[int, int]]:
        return list(enumerate(observations.column("last_stable_offset")))

    arguments = (
        frame(events, "t BIGINT, producer BIGINT, kind STRING, first BIGINT, last BIGINT"),
        frame(marks, "t BIGINT, hw BIGINT"),
    )
    return WitnessedCase(name, arguments, workload, answer, ("read_committed",))


_RAISE = "maybe_increment_high_watermark leo"
_ONE_OF_TWO = f"""
append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
{_RAISE}
append_as_leader [2x10]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
{_RAISE}
append_as_leader [1x10]
{_RAISE}
"""
_INTERLEAVED = f"""
append_as_leader [1x10]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
append_as_leader [1x10 pid=8 epoch=0 seq=2 txn]
{_RAISE}
"""
_SLOW_REPLICATION = f"""
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
append_as_leader [2x10 pid=7 epoch=0 seq=2 txn]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
{_RAISE}
"""


def _stable_by(events, marks, choose, reached: int = 0) -> list[tuple[int, int]]:
    """LSO at each mark by `choose(undecided, unreplicated, hw)`: first offsets of open, and of decided transactions.

    A marker counts as replicated when it is below hw + `reached`.
    """
    rows = events.orderBy("t").collect()
    answers = []
    for t, hw in (tuple(row) for row in marks.orderBy("t").collect()):
        begun, unreplicated = {}, []
        for row in (row for row in rows if row.t <= t):
            if row.kind == "data":
                begun.setdefault(row.producer, row.first)
            elif row.kind in ("commit", "abort") and row.producer in begun:
                first = begun.pop(row.producer)
                unreplicated += [first] if row.first >= hw + reached else []
        answers.append((t, choose(list(begun.values()), unreplicated, hw)))
    return answers


last_stable = Exercise(
    "Exercise 3, the last stable offset",
    lambda: [
        _stable("one transaction aborts", _ONE_OF_TWO),
        _stable("two transactions, interleaved", _INTERLEAVED),
        _stable("markers that wait for the high watermark", _SLOW_REPLICATION),
    ],
    judged_by_spark,
    solutions.stable_offsets,
    hints=[
        "First give each transactional batch its marker: the next one of its producer, commit or abort alike.",
        "At t a batch is undecided while its marker is not there yet, or is there but at or above HW.",
        "LSO = the least first offset of the undecided batches, but never above HW; without any it is HW.",
    ],
    beliefs=[
        Belief(
            lambda events, marks: _stable_by(events, marks, lambda open_, waiting, hw: hw),
            "You answer with HW. An open transaction holds LSO back: read_committed consumers must not see its records"
            " yet.",
        ),
        Belief(
            lambda events, marks: _stable_by(events, marks, lambda open_, waiting, hw: min([hw, *open_])),
            "Your transactions let go as soon as the marker is written. It must be replicated first: HW has to pass the"
            " marker.",
        ),
        Belief(
            lambda events, marks: _stable_by(
                events, marks, lambda open_, waiting, hw: min(hw, max([*open_, *waiting], default=hw))
            ),
            "You wait for the youngest undecided transaction. The oldest one decides.",
        ),
        Belief(
            lambda events, marks: _stable_by(
                events, marks, lambda open_, waiting, hw: min([hw, *open_, *waiting]), reached=1
            ),
            "You take a marker at HW for replicated. HW is the first offset that is not: the marker must be below it.",
        ),
        Belief(
            lambda events, marks: _stable_by(
                events, marks, lambda open_, waiting, hw: min([*open_, *waiting], default=hw)
            ),
            "Your LSO rises above HW. A transaction that begins above HW holds nothing back yet: LSO is never"
            " above HW.",
        ),
    ],
    normal=as_rows,
)


# 4. The log start offset


_EVENTS = {
    "delete records": "maybe_increment_log_start_offset {}",
    "leader's log start": "maybe_increment_log_start_offset {} reason=leader_offset_incremented",
    "segments deleted": "delete_old_segments",
    "truncate": "truncate_to {}",
    "truncate fully": "truncate_fully_and_start_at {}",
}


def _log_starts(before: list[str], *events: tuple[str, int, int, int]) -> list[WitnessedCase]:
    """A case for each (event, offset, log start before it, HW before it), all of one log, after the lines `before`."""
    lines = [*before, *(_EVENTS[event].format(offset) for event, offset, _, _ in events)]
    workload, cases = Workload.parse("\n".join(lines)), []
    for number, (event, offset, start, hw) in enumerate(events, len(workload) - len(events)):
        answer = lambda observations, number=number: observations.value(number, "log_start_offset")  # noqa: E731
        name = f"{event} {offset}, log start {start}, HW {hw}"
        cases.append(WitnessedCase(name, (event, offset, start, hw), workload, answer))
    return cases


def _moments() -> list[WitnessedCase]:
    five, header = ["append_as_leader [1x10]"] * 5, "config retention.bytes=390"
    raised = ["update_high_watermark 8", "maybe_increment_log_start_offset {}"]
    at = lambda start: [line.format(start) for line in raised]  # noqa: E731
    return [
        *_log_starts(
            [*five, *five, *at(2)],
            ("delete records", 9, 2, 8),
            ("delete records", 1, 2, 8),
            ("delete records", 6, 2, 8),
            ("leader's log start", 8, 6, 8),
            ("leader's log start", 9, 8, 8),
            ("leader's log start", 3, 8, 8),
            ("truncate", 9, 8, 8),
            ("truncate", 5, 8, 8),
            ("truncate fully", 20, 5, 5),
            ("truncate fully", 1, 20, 20),
        ),
        *_log_starts([header, *five, "roll", *five, *at(2)], ("segments deleted", 5, 2, 8)),
        *_log_starts([header, *five, "roll", *five, *at(7)], ("segments deleted", 5, 7, 8)),
    ]


def _wrong_at(event: str, answer):
    """Right but for one event, whose log start is `answer(offset, log start before)`."""
    return lambda happened, offset, start, hw: (
        answer(offset, start) if happened == event else solutions.new_log_start(happened, offset, start, hw)
    )


log_start = Exercise(
    "Exercise 4, the log start's moments",
    _moments,
    judged_by_spark,
    solutions.new_log_start,
    hints=[
        "Three of the five go through maybe_increment_log_start_offset: it only grows, and above HW it refuses.",
        "Truncation can only lower it, to the new end. Full truncation sets it.",
    ],
    beliefs=[
        Belief(
            lambda event, offset, start, hw: (
                max(start, min(offset, hw))
                if not event.startswith("truncate")
                else solutions.new_log_start(event, offset, start, hw)
            ),
            "You bend a log start above HW to HW. It is refused, OffsetOutOfRangeException, and nothing moves.",
        ),
        Belief(
            _wrong_at("leader's log start", lambda offset, start: offset),
            "You believe the leader in everything. A follower asks the same two questions of its leader's log start:"
            " not above HW, and only upwards.",
        ),
        Belief(
            _wrong_at("leader's log start", lambda offset, start: max(offset, start)),
            "You let a leader's log start go above the follower's HW. That is refused on a follower as well.",
        ),
        Belief(
            _wrong_at("truncate", lambda offset, start: start),
            "Your log start stays when the log is truncated below it. Then it would lie above LEO: it is lowered to the"
            " new end.",
        ),
        Belief(
            lambda event, offset, start, hw: start if offset > hw and event != "truncate fully" else offset,
            "You take every value that is not above HW. The log start only grows, but for a truncation below it.",
        ),
        Belief(
            _wrong_at("truncate", lambda offset, start: offset),
            "Your log start goes to the target of every truncation. It can only lower it: a target above the log start"
            " leaves it.",
        ),
        Belief(
            _wrong_at("segments deleted", lambda offset, start: offset),
            "Your log start falls back to a segment's base. DeleteRecords may have raised it beyond that, and it only"
            " grows.",
        ),
        Belief(
            lambda event, offset, start, hw: (
                max(start, offset)
                if not event.startswith("truncate")
                else solutions.new_log_start(event, offset, start, hw)
            ),
            "You raise the log start above HW. That is refused: unreplicated records would be declared deleted.",
        ),
        Belief(
            _wrong_at("truncate fully", lambda offset, start: max(start, offset)),
            "You let a full truncation only raise the log start. It sets it: a follower may begin anew below, where its"
            " leader begins.",
        ),
    ],
)

EXERCISES = answered_early(first_offsets, sequences, last_stable, log_start)
