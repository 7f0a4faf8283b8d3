"""What the quiz asks about the lesson *Stored and safe*."""

from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import COMPUTE, FILES, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import KINDS, effect_on_files, log_after_three

_EPOCHS = {"leader-epoch-checkpoint": "`leader-epoch-checkpoint`"}


def changed_by_an_indexed_append() -> set[str]:
    """The kinds of files that change with a batch that is due for an index entry and is younger than all before it."""
    log = fresh_log({"index.interval.bytes": 0})
    log.append_as_leader(sent("1x10 ts=now"), leader_epoch=0)
    changed, _ = effect_on_files(log, lambda: log.append_as_leader(sent("1x10 ts=now+1"), leader_epoch=0))
    return {name.partition(".")[2] for name in changed}


def changed_by_delete_records() -> set[str]:
    """The kinds of files of the partition that change when DeleteRecords raises the log start inside a segment."""
    from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason

    log = log_after_three()
    log.update_high_watermark(3)
    reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
    changed, new = effect_on_files(log, lambda: log.maybe_increment_log_start_offset(2, reason))
    return {name.partition(".")[2] or name for name in changed | new}


def flushed_by_messages() -> int:
    """The recovery point after appends of 2, 2 and 1 records with `flush.messages=3`."""
    log = fresh_log({"flush.messages": 3})
    for count in (2, 2, 1):
        log.append_as_leader(records(count), leader_epoch=0)
    return log.recovery_point


def what_makes_leaders_busy() -> str:
    """In which topic a leader writes other bytes for the records than an lz4 producer sent."""
    other = {}
    for codec in ("producer", "lz4", "gzip"):
        log, batch = fresh_log({"compression.type": codec}), sent("40x50 codec=lz4")
        body = bytes(batch.buffer)[61:]
        log.append_as_leader(batch, leader_epoch=0)
        [stored] = log.active_segment.log.batches()
        other[codec] = bytes(stored.load_full_batch().buffer)[61:] != body
    return "codec" if other == {"producer": False, "lz4": False, "gzip": True} else "none"


QUESTIONS = (
    Question(
        FILES,
        "When the time index gets an entry",
        "A log with `index.interval.bytes=0` holds one batch. A second one comes, a millisecond younger. Which files"
        " change?",
        changed_by_an_indexed_append,
        "The batch is due for an entry in the offset index; with it the largest timestamp so far is offered to the time"
        " index, which takes it because it is larger than its last one.",
        KINDS,
    ),
    Question(
        FILES,
        "LEO's four moments, the log start's five",
        "DeleteRecords raises the log start from 0 to 2, in the middle of the only segment. Which files of the"
        " partition's directory change then?",
        changed_by_delete_records,
        "No record is touched. The log start itself is written down later, in `log-start-offset-checkpoint` beside the"
        " partition's directory. But the epoch that holds the log start begins there now, and the file of epochs says"
        " so.",
        {**KINDS, **_EPOCHS},
    ),
    Question(
        COMPUTE,
        "When an append is safe: the recovery point",
        "`flush.messages=3`, appends of 2, 2 and 1 records. The recovery point?",
        flushed_by_messages,
        "The second append brings four records that are not flushed, three or more, and all four are flushed.",
    ),
    Question(
        FIRST,
        "Compression: source and target",
        "All your producers send lz4, and the processors of leaders are much busier than those of followers. What do"
        " you look at first?",
        what_makes_leaders_busy,
        "Where the topic names another codec, the leader packs every batch anew; followers store what they fetch.",
        {
            "none": "the producers' batch size",
            "codec": "`compression.type` of the topics",
            "fetchers": "`num.replica.fetchers`",
        },
    ),
)
