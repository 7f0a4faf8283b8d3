"""What the quiz asks about the lesson *Producers and transactions*."""

from minikafka.lab.stage.producers import Producer, sent
from minikafka.lab.stage.workbench import fresh_log, open_log
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FILES, Question
from minikafka.lab.teaching.quiz.small_runs import (
    REPLICATED,
    TRANSACTIONS,
    after,
    effect_on_files,
    log_after_three,
    or_error,
)


def new_after_a_roll() -> set[str]:
    """The kinds of files that are there after a roll and were not there before."""
    log = log_after_three()
    _, new = effect_on_files(log, log.roll)
    return {name.partition(".")[2] for name in new}


def stable_before() -> int:
    """The last stable offset while the abort marker is not replicated."""
    return after(TRANSACTIONS).last_stable_offset


def stable_afterwards() -> int:
    """The last stable offset when the marker is replicated."""
    return after(REPLICATED).last_stable_offset


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
    return or_error(lambda: old.send(1))


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
    answers = [or_error(lambda batch=batch: log.append_as_leader(sent(batch), 0).first_offset) for batch in batches]
    return sum(isinstance(answer, int) for answer in answers)


QUESTIONS = (
    Question(
        FILES,
        "The snapshot",
        "A log is rolled. Which of these files are there afterwards under a name that was not there before?",
        new_after_a_roll,
        "The snapshot has the same offset in its name as the new segment, and says what was known of producers before"
        " it.",
        {
            "log": "a `.log`",
            "txnindex": "a `.txnindex`",
            "snapshot": "a `.snapshot`",
            "swap": "a `.swap`",
        },
        card="A snapshot, written at each roll and at a clean close",
        replies={
            "txnindex": "There is one only where a transaction was aborted.",
            "swap": "That is a segment which takes the place of others, after a compaction.",
        },
    ),
    Question(
        COMPUTE,
        "A transaction, opened, aborted, indexed",
        "The abort marker has been written, and no follower has fetched it. Where is the last stable offset?",
        stable_before,
        "A marker on one disk may be lost with it: 7's transaction is decided only when HW has passed its marker.",
        workload=TRANSACTIONS,
        card="Until then LSO is not above its first record",
    ),
    Question(
        COMPUTE,
        "A transaction, opened, aborted, indexed",
        "After the abort marker the followers fetch everything. Where is the last stable offset?",
        stable_afterwards,
        "7's transaction is decided, 8's is open: its first record is the bound.",
        workload=REPLICATED,
        card="A transaction is decided for good when the high watermark has passed its marker",
    ),
    Question(
        COMPUTE,
        "Duplicates, answered from memory",
        "An idempotent producer has sent eight batches, and sends each of the eight again, whatever the answers are."
        " How many are answered as they were the first time?",
        retries_that_are_known,
        "The log remembers the last five batches of a producer. An older one is refused as out of order.",
        card="of each producer the last five batches … an older batch again",
    ),
    Question(
        COMPUTE,
        "Duplicates, answered from memory",
        "An idempotent producer has sent eight batches. The broker is stopped cleanly and started; then the producer"
        " sends each of the eight again, whatever the answers are. How many are answered as they were the first time?",
        retries_known_after_a_restart,
        "A snapshot has room for one batch of each producer, the last.",
        card="A snapshot, written at each roll and at a clean close, keeps only the last one … after"
        " a restart, the batch before the last one again",
    ),
    Question(
        CHOOSE,
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
        card="an older epoch | `InvalidProducerEpochException`",
        replies={
            "OutOfOrderSequenceException": "The epoch is checked before the sequence.",
            2: "Its sequence would go on, but a newer epoch of the same producer has written.",
        },
    ),
)
