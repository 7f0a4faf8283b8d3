"""What the quiz asks about the lesson *Crash and recovery*."""

from pathlib import Path

from minikafka.lab.stage.damage import SMALL, another, cut, flip, kill, load, remove, sizes
from minikafka.lab.stage.producers import Producer
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FILES, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import two_segments
from minikafka.log.fetch_isolation import FetchIsolation

_TORN = "Two batches lie in the first segment of a log (offsets 0 to 3), two in the second (4 to 7), 95 bytes each."


def end_of_a_torn_log() -> int:
    """Where a log ends that was cut in its last batch, after an unclean stop."""
    return load(cut(another(_killed()), "004.log", 150), SMALL).log_end_offset


def end_after_damage_below() -> int:
    """Where it ends with a flipped bit in the first segment, when the recovery point is 4."""
    return load(flip(another(_killed()), "000.log", 150), SMALL, recovery_point=4).log_end_offset


def end_after_damage_above() -> int:
    """The same when the recovery point is 0."""
    return load(flip(another(_killed()), "000.log", 150), SMALL, recovery_point=0).log_end_offset


def recovery_point_after_unclean() -> int:
    """The same after a kill."""
    return load(another(_killed()), SMALL, recovery_point=2).recovery_point


def made_anew_when_missing() -> set[str]:
    """What a load after a clean stop makes anew, with its contents, when it has been deleted."""
    log = fresh_log({**SMALL, "index.interval.bytes": 0})
    producer = Producer(log, 7, transactional=True)
    for _ in range(2):
        producer.send(2)
    producer.end("abort")
    log.roll()
    log.append_as_leader(records(1), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)
    log.close()
    losses = {"index": ("000.index",), "timeindex": ("000.timeindex",), "txnindex": ("000.txnindex",)}
    losses["snapshot"] = tuple(sizes(log.dir, ".snapshot"))
    whole = _known(log.dir)
    return {kind for kind, names in losses.items() if _known(remove(another(log.dir), *names))[kind] == whole[kind]}


def what_a_shorter_log_says() -> str:
    """What lay behind the place at which recovery has cut a log with one wrong bit: sound batches, or nothing."""
    sound = load(another(_killed()), SMALL).log_end_offset
    cut_at = load(flip(another(_killed()), "004.log", 20), SMALL).log_end_offset
    return "behind" if cut_at + 2 < sound else "nothing"


def _killed() -> Path:
    return kill(two_segments())


def _known(directory: Path) -> dict[str, object]:
    """What a log knows after a load that followed a clean stop, by the file in which it was written."""
    log = load(another(directory), {**SMALL, "index.interval.bytes": 0}, clean=True)
    log.update_high_watermark(log.log_end_offset)
    first = log.log_segments[0]
    entries = {
        kind: [tuple(index.entry(number)) for number in range(index.entries)]
        for kind, index in (("index", first.offset_index), ("timeindex", first.time_index))
    }
    aborted = log.read(0, 1_048_576, FetchIsolation.TXN_COMMITTED).aborted_transactions
    return {**entries, "txnindex": len(aborted), "snapshot": [*log.producer_state_manager.active_producers]}


QUESTIONS = (
    Question(
        COMPUTE,
        "A crash at the byte you pick",
        f"{_TORN} The broker is killed, and of the second file the first 150 bytes are left. Where does the log end"
        " after the start?",
        end_of_a_torn_log,
        "A batch survives whole or not at all: one of the two is whole.",
    ),
    Question(
        CHOOSE,
        "The scan",
        "The same log, killed, with all of its bytes; but one bit in the second batch of the *first* segment has"
        " flipped. The recovery point is 4. Where does it end after the start?",
        end_after_damage_below,
        "Only the segment that holds the recovery point and those above it are scanned. What is flushed is taken to be"
        " good, so the damage stays and is not noticed.",
        {8: "at 8", 4: "at 4", 2: "at 2"},
    ),
    Question(
        CHOOSE,
        "The scan",
        "The same with a recovery point of 0?",
        end_after_damage_above,
        "The scan finds the bad batch and ends the log before it. The sound segment above goes, too.",
        {8: "at 8", 4: "at 4", 2: "at 2"},
    ),
    Question(
        CHOOSE,
        "The scan",
        "And after a kill, with the same file?",
        recovery_point_after_unclean,
        "Everything was read and found good, but being read is not being flushed.",
        {0: "0", 2: "2", 8: "8"},
    ),
    Question(
        FILES,
        "The index of aborted transactions",
        "A broker was stopped cleanly. Somebody deletes one file (or all files of one kind). Which loss does the next"
        " start make good, so that the log knows the same as before?",
        made_anew_when_missing,
        "A missing `.index` is noticed after any stop, and its segment is recovered. A missing time index is made"
        " anew, and empty; producers and aborted transactions are forgotten, and nobody reports it.",
        {
            "index": "an `.index`",
            "timeindex": "a `.timeindex`",
            "txnindex": "a `.txnindex`",
            "snapshot": "all `.snapshot` files",
        },
    ),
    Question(
        FIRST,
        "The scan",
        "After a power cut your broker reports invalid messages for a partition, and its log is shorter than before."
        " You have a copy of the segment from before the start. What do you look for in it first?",
        what_a_shorter_log_says,
        "A torn last batch is what a power cut leaves. A wrong CRC in the middle points to memory or disk, and the"
        " sound batches behind it were cut as well: they are in the copy, and on replicas. (Here one bit of the third"
        " batch of four was wrong.)",
        {
            "behind": "whether sound batches lie behind the place of the cut",
            "nothing": "the size of its index files",
            "epochs": "the leader epochs of its batches",
        },
    ),
)
