"""What the quiz asks about the lesson *Stored and safe*."""

from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FILES, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import HOUR, KINDS, effect_on_files, log_after_three
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason


def bases_by_timestamps() -> tuple[int, ...]:
    """Where segments begin after appends at three hours by the clock, with timestamps of three other hours."""
    log = fresh_log({"segment.ms": 24 * HOUR})
    began = log.time.milliseconds()
    for waits, stamped in ((0, 0), (30, 1), (1, 25)):
        log.time.sleep(waits * HOUR)
        log.append_as_leader(records(1, timestamp=began + stamped * HOUR), leader_epoch=0)
    return tuple(segment.base_offset for segment in log.log_segments)


def changed_by_delete_records() -> set[str]:
    """The kinds of files of a segment that change when DeleteRecords raises the log start inside of it."""
    log = log_after_three()
    log.update_high_watermark(3)
    reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
    changed, new = effect_on_files(log, lambda: log.maybe_increment_log_start_offset(2, reason))
    return {name.partition(".")[2] for name in changed | new} & {*KINDS}


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
        CHOOSE,
        "When the segment must end: RollParams",
        "`segment.ms` is 24 hours. Three appends of one record each come at the hours 0, 30 and 31 by the clock. The"
        " records' timestamps are of the hours 0, 1 and 25. With which offsets do the segments begin?",
        bases_by_timestamps,
        "25 hours lie between the first timestamp of the segment and the third record's.",
        {(0,): "0: there is one segment", (0, 1): "0 and 1", (0, 2): "0 and 2"},
        card="For the age of a segment the records' timestamps count, not the clock",
        replies={
            (0,): "The time is measured from the segment's first batch, not from the batch before.",
            (0, 1): "By the clock the second append is 30 hours late. By its timestamp it is one hour late.",
        },
    ),
    Question(
        FILES,
        "LEO's four moments, the log start's five",
        "DeleteRecords raises the log start from 0 to 2, in the middle of the only segment. Which of these files change"
        " then?",
        changed_by_delete_records,
        "The log start is a number in memory; a task writes it into `log-start-offset-checkpoint` later. (The file of"
        " epochs changes: the epoch that holds the log start begins there now.)",
        KINDS,
        card="DeleteRecords raises the log start, never above the high watermark, and changes no segment",
        replies={
            "log": "No record is touched. Segments go later, and only those that lie wholly below the log start.",
            "index": "All batches stay where they are, so the entries stay right.",
            "timeindex": "All records stay where they are, so the entries stay right.",
        },
    ),
    Question(
        COMPUTE,
        "When an append is safe: the recovery point",
        "`flush.messages=3`, appends of 2, 2 and 1 records. Where is the recovery point afterwards?",
        flushed_by_messages,
        "The second append brings four records that are not flushed, three or more, and all four are flushed.",
        card="LEO, as soon as `flush.messages` records or more are not flushed; else it stays",
    ),
    Question(
        FIRST,
        "Compression: source and target",
        "All your producers send lz4, and the processors of leaders are much busier than those of followers, even when"
        " nobody reads. What do you look at first?",
        what_makes_leaders_busy,
        "Where the topic names another codec, the leader packs every batch anew; followers store what they fetch.",
        {
            "none": "`acks`: leaders wait for their followers",
            "fetchers": "`num.replica.fetchers` of the brokers",
            "codec": "`compression.type` of the topics",
        },
        card="If the codecs differ, it builds a new batch",
        replies={
            "none": "A request that waits for followers holds no thread.",
            "fetchers": "These threads run on followers, and copy batches as they are.",
        },
    ),
)
