"""What the quiz asks about the lesson *Read isolation*."""

from minikafka.lab.stage.readers import records_seen
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import COMPUTE, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import REPLICATED, TRANSACTIONS, after
from minikafka.log.fetch_isolation import FetchIsolation


def seen_by_read_committed() -> list[int]:
    """The offsets that a `read_committed` consumer hands to its application."""
    return [record.offset for record in records_seen(after(REPLICATED), read_committed=True)]


def end_of_the_first_answer() -> int:
    """The last offset in the answer to a follower that reads from 0, where segments begin at 0, 4, 8 and 12."""
    log = fresh_log({"internal.segment.bytes": 230})
    for number in range(8):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    if [segment.base_offset for segment in log.log_segments] != [0, 4, 8, 12]:
        raise AssertionError("the question speaks of other segments")
    return list(log.read(0, 1_048_576, FetchIsolation.LOG_END).records.batches())[-1].last_offset


def what_holds_read_committed() -> str:
    """Which pair of marks differs while a transaction is open and everything is replicated."""
    log = after(TRANSACTIONS.rpartition("\n")[0])
    marks = {
        "start": (log.log_start_offset, log.log_start_offset),
        "stable": (log.last_stable_offset, log.high_watermark),
        "end": (log.high_watermark, log.log_end_offset),
    }
    [found] = [name for name, (lower, upper) in marks.items() if lower != upper]
    return found


QUESTIONS = (
    Question(
        COMPUTE,
        "What was aborted",
        "After these operations a `read_committed` consumer reads from 0. Which offsets does its application get?",
        seen_by_read_committed,
        "2, 3 and 4 were aborted, and 5 belongs to nobody's transaction. From 6 on everything waits for producer 8.",
        workload=REPLICATED,
        card="gets a list of the aborted transactions, and skips their records … From the first"
        " record of an open transaction on, `read_committed` consumers get nothing",
    ),
    Question(
        COMPUTE,
        "Three readers",
        "Segments begin at 0, 4, 8 and 12, each has two batches of two records, and a follower reads once, from 0, with"
        " a limit of a MiB. Which is the last offset in the answer?",
        end_of_the_first_answer,
        "An answer comes from one segment, however large the limit is.",
        card="what it gives, always of one segment",
    ),
    Question(
        FIRST,
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
        card="a `read_uncommitted` consumer below HW, a `read_committed` one below LSO",
        replies={
            "start": "These two say what has been deleted. Consumers wait at the other end.",
            "end": "These two part while a follower is slow. Then the other consumer would wait, too.",
        },
    ),
)
