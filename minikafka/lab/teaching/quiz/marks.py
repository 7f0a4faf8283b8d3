"""Questions about marks, producers and readers."""

from typing import Any

from minikafka.lab.stage.producers import Producer, sent
from minikafka.lab.stage.readers import log_after, records_seen
from minikafka.lab.stage.workbench import fresh_log, open_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FIRST, Question
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_offset_metadata import LogOffsetMetadata

_FETCHES = """isr 1,2
append_as_leader [4x10]
append_as_leader [6x10]
fetch 1 4
fetch 2 0
fetch 1 10
fetch 2 4"""
_TRANSACTIONS = """append_as_leader [2x10]
append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [1x10]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
maybe_increment_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]"""
_REPLICATED = _TRANSACTIONS + "\nmaybe_increment_high_watermark leo"


def mark_after_fetches() -> int:
    """The leader's high watermark after the fetches."""
    return _after(_FETCHES).high_watermark


def set_below_the_start() -> str | int:
    """What `update_high_watermark(2)` gives where the log is 5 to 10."""
    log = _from_5_to_10()
    return log.update_high_watermark(2)


def raised_above_the_end() -> str | int | None:
    """What `maybe_increment_high_watermark` gives for 11 where the log ends at 10."""
    return _or_error(lambda: _from_5_to_10().maybe_increment_high_watermark(LogOffsetMetadata(11)))


def stable_before() -> int:
    """The last stable offset while the abort marker is not replicated."""
    return _after(_TRANSACTIONS).last_stable_offset


def stable_afterwards() -> int:
    """The last stable offset when the marker is replicated."""
    return _after(_REPLICATED).last_stable_offset


def seen_by_read_committed() -> list[int]:
    """The offsets that a `read_committed` consumer hands to its application."""
    return [record.offset for record in records_seen(_after(_REPLICATED), read_committed=True)]


def end_of_the_first_answer() -> int:
    """The last offset in the answer to a follower that reads from 0, where segments begin at 0, 6 and 12."""
    log = fresh_log({"internal.segment.bytes": 230})
    for number in range(8):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    if [segment.base_offset for segment in log.log_segments] != [0, 4, 8, 12]:
        raise AssertionError("the question speaks of other segments")
    return list(log.read(0, 1_048_576, FetchIsolation.LOG_END).records.batches())[-1].last_offset


def bytes_of_a_cut_answer() -> int:
    """The bytes of an answer with a limit of 150 where batches have 95."""
    log = fresh_log()
    for number in range(4):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    if {batch.size_in_bytes for batch in log.active_segment.log.batches()} != {95}:
        raise AssertionError("the question speaks of other batches")
    return log.read(0, 150, FetchIsolation.LOG_END, min_one_message=True).records.size_in_bytes


def by_timestamp() -> int:
    """The offset found for second 3, where records are of seconds 0, 5, 2 and 3."""
    log = fresh_log()
    start = log.time.milliseconds()
    for second in (0, 5, 2, 3):
        log.append_as_leader(records(1, timestamp=start + 1000 * second), leader_epoch=0)
    return log.fetch_offset_by_timestamp(start + 3000).offset


def retries_that_are_known() -> int:
    """How many of eight batches, all sent again, are answered as the first time."""
    return _known_again(restart=False)


def retries_known_after_a_restart() -> int:
    """The same after a clean restart."""
    return _known_again(restart=True)


def zombie() -> str | int | None:
    """What a producer of epoch 0 is told when epoch 1 has written."""
    log = fresh_log()
    old = Producer(log, 7, epoch=0)
    old.send(1)
    Producer(log, 7, epoch=1).send(1)
    return _or_error(lambda: old.send(1))


def follower_with_a_gap() -> str | int | None:
    """The end of an empty follower after a batch of two records from offset 20 on."""
    follower = fresh_log()
    return _or_error(
        lambda: (follower.append_as_follower(sent("2x1 offset=20 leader_epoch=0"), 0), follower.log_end_offset)[1]
    )


def what_holds_read_committed() -> str:
    """Which pair of marks differs while a transaction is open and everything is replicated."""
    log = _after(_TRANSACTIONS.rpartition("\n")[0])
    marks = {
        "start": (log.log_start_offset, log.log_start_offset),
        "stable": (log.last_stable_offset, log.high_watermark),
        "end": (log.high_watermark, log.log_end_offset),
    }
    [found] = [name for name, (lower, upper) in marks.items() if lower != upper]
    return found


def _known_again(*, restart: bool) -> int:
    log = fresh_log()
    producer = Producer(log, 7)
    batches = []
    for _ in range(8):
        producer.send(1)
        batches.append(producer.last)
    if restart:
        log.close()
        log = open_log(log.dir)
    answers = [_or_error(lambda batch=batch: log.append_as_leader(sent(batch), 0).first_offset) for batch in batches]
    return sum(isinstance(answer, int) for answer in answers)


def _from_5_to_10() -> Any:
    log = fresh_log()
    log.truncate_fully_and_start_at(5)
    for number in range(5):
        log.append_as_leader(records(1, 1, first=number), leader_epoch=0)
    return log


def _after(text: str) -> Any:
    from minikafka.witness import Workload

    return log_after(Workload.parse(text))


def _or_error(call: Any) -> str | int | None:
    try:
        return call()
    except Exception as error:  # many questions are about which exception comes
        return type(error).__name__


QUESTIONS = (
    Question(
        COMPUTE,
        "03",
        "A leader and two followers",
        "Followers 1 and 2 are in sync. Where is the leader's high watermark after the last fetch?",
        mark_after_fetches,
        "*Fetch from 4* says: I have everything below 4. The mark is the least end in the ISR, and follower 2 holds it"
        " back.",
        workload=_FETCHES,
    ),
    Question(
        CHOOSE,
        "03",
        "Many ways, one setter",
        "A log begins at 5 and ends at 10. What does `update_high_watermark(2)` return?",
        set_below_the_start,
        "The setter bends what it is given into the bounds of the log, at either end.",
        {2: "2", 5: "5", 10: "10", "IllegalArgumentException": "nothing: `IllegalArgumentException`"},
    ),
    Question(
        CHOOSE,
        "03",
        "The leader's method",
        "The same log. What does `maybe_increment_high_watermark(11)` return on its leader?",
        raised_above_the_end,
        "The leader has worked the number out from what its replicas told. Above its own end it can only be a bug, and"
        " is refused.",
        {
            10: "10",
            None: "None: the mark stays",
            "IllegalArgumentException": "nothing: `IllegalArgumentException`",
            "OffsetOutOfRangeException": "nothing: `OffsetOutOfRangeException`",
        },
    ),
    Question(
        COMPUTE,
        "05",
        "A transaction, opened, aborted, indexed",
        "The abort marker has been written, and no follower has fetched it. Where is the last stable offset?",
        stable_before,
        "A marker on one disk may be lost with it: 7's transaction is decided only when HW has passed its marker.",
        workload=_TRANSACTIONS,
    ),
    Question(
        COMPUTE,
        "05",
        "A transaction, opened, aborted, indexed",
        "Now the followers have fetched everything (`maybe_increment_high_watermark leo`). Where is the last stable"
        " offset?",
        stable_afterwards,
        "7's transaction is decided, 8's is open: its first record is the bound.",
    ),
    Question(
        COMPUTE,
        "06",
        "What was aborted",
        "At that moment a `read_committed` consumer reads from 0. Which offsets does its application get?",
        seen_by_read_committed,
        "2, 3 and 4 were aborted, and 5 belongs to nobody's transaction. From 6 on everything waits for producer 8.",
    ),
    Question(
        COMPUTE,
        "06",
        "Three readers",
        "Segments begin at 0, 4, 8 and 12, each has two batches of two records, and a follower reads from 0 with a"
        " limit of a MiB. Which is the last offset in the answer?",
        end_of_the_first_answer,
        "An answer comes from one segment, however large the limit is.",
    ),
    Question(
        COMPUTE,
        "06",
        "How much",
        "Batches of 95 bytes, a limit of 150 bytes, `min_one_message`. How many bytes has the answer?",
        bytes_of_a_cut_answer,
        "The limit counts bytes and knows nothing of batches; the reader drops the piece at the end. The first batch"
        " alone may exceed the limit.",
    ),
    Question(
        CHOOSE,
        "06",
        "By timestamp",
        "Offsets 0 to 3 have records of second 0, 5, 2 and 3. Which offset is found for second 3?",
        by_timestamp,
        "The first, by offset, that is not older. The record with exactly that timestamp comes after it.",
        {0: "0", 1: "1", 2: "2", 3: "3"},
    ),
    Question(
        COMPUTE,
        "05",
        "Duplicates, answered from memory",
        "An idempotent producer has sent eight batches, and sends all eight again. How many are answered as they were"
        " the first time?",
        retries_that_are_known,
        "The log remembers the last five batches of a producer. An older one is refused as out of order.",
    ),
    Question(
        COMPUTE,
        "05",
        "Duplicates, answered from memory",
        "The same, but the broker was stopped and started before the retries. How many?",
        retries_known_after_a_restart,
        "A snapshot has room for one batch of each producer, the last.",
    ),
    Question(
        CHOOSE,
        "05",
        "Epochs fence",
        "Producer 7 of epoch 1 has written; then the one of epoch 0 wakes up and goes on in its own sequence. What"
        " happens?",
        zombie,
        "An older epoch is refused, whatever the sequence is.",
        {
            "InvalidProducerEpochException": "`InvalidProducerEpochException`",
            "OutOfOrderSequenceException": "`OutOfOrderSequenceException`",
            2: "it is written at offset 2",
        },
    ),
    Question(
        CHOOSE,
        "04",
        "On a follower",
        "An empty follower is sent a batch with offsets 20 and 21. What then?",
        follower_with_a_gap,
        "A follower keeps its leader's offsets, and compaction leaves gaps. What begins below its own end would be"
        " refused.",
        {
            22: "it ends at 22",
            2: "it ends at 2: offsets are given anew",
            "UnexpectedAppendOffsetException": "`UnexpectedAppendOffsetException`: there is a gap",
        },
    ),
    Question(
        FIRST,
        "06",
        "Three readers",
        "Your broker shows a partition whose `read_committed` consumers have seen nothing for ten minutes, while a"
        " consumer that reads uncommitted is up to date. Which two marks do you compare first?",
        what_holds_read_committed,
        "An open transaction parts these two and no others. Then ask whose it is, and look at the last stable offset:"
        " that is where it began.",
        {
            "start": "log start and the first segment's base",
            "end": "high watermark and log end",
            "stable": "last stable offset and high watermark",
        },
    ),
)
