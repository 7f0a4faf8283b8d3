"""What the quiz asks about the lesson *Crash and recovery*."""

from pathlib import Path

from minikafka.lab.stage.damage import SMALL, another, cut, flip, kill, load
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import two_segments

_LOG = "Two batches lie in the first segment of a log (offsets 0 to 3), two in the second (4 to 7), 95 bytes each."


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
    """The recovery point after a kill, where the file says 2 and the log ends at 8."""
    return load(another(_killed()), SMALL, recovery_point=2).recovery_point


def what_a_shorter_log_says() -> str:
    """What lay behind the place at which recovery has cut a log with one wrong bit: sound batches, or nothing."""
    sound = load(another(_killed()), SMALL).log_end_offset
    cut_at = load(flip(another(_killed()), "004.log", 20), SMALL).log_end_offset
    return "behind" if cut_at + 2 < sound else "nothing"


def _killed() -> Path:
    return kill(two_segments())


QUESTIONS = (
    Question(
        COMPUTE,
        "A crash at the byte you pick",
        f"{_LOG} The power fails, and of the second file the first 150 bytes are left. Where does the log end after"
        " the start?",
        end_of_a_torn_log,
        "A batch survives whole or not at all: one of the two is whole.",
        card="the last batch is torn | ends before that batch",
    ),
    Question(
        CHOOSE,
        "The scan",
        f"{_LOG} The broker is killed, and no byte is missing; but one bit in the second batch of the *first* segment"
        " has flipped. The file of recovery points says 4. Where does the log end after the start?",
        end_after_damage_below,
        "Only the segment that holds the recovery point and those above it are scanned. What is flushed is taken to be"
        " good, so the damage stays and is not noticed.",
        {2: "at 2", 4: "at 4", 8: "at 8"},
        card="a batch below the scanned segments is bad | ends where it did; no one has checked that batch",
        replies={
            2: "The scan begins in the second segment and does not meet the bad batch.",
            4: "At 4 the scan begins. The log ends where it finds a bad batch, and it finds none.",
        },
    ),
    Question(
        CHOOSE,
        "The scan",
        f"{_LOG} The broker is killed, and no byte is missing; but one bit in the second batch of the first segment has"
        " flipped. The file of recovery points says 0. Where does the log end after the start?",
        end_after_damage_above,
        "The scan finds the bad batch and ends the log before it. The sound segment above goes, too.",
        {2: "at 2", 4: "at 4", 8: "at 8"},
        card="a batch of a scanned segment is bad | ends before that batch; the segments above go, sound or not",
        replies={
            4: "The log ends before the bad batch, which begins at 2, not at the end of its segment.",
            8: "The scan cuts, and the load deletes the segments above a cut, even if they are sound.",
        },
    ),
    Question(
        CHOOSE,
        "The scan",
        f"{_LOG} The broker is killed, and all of it is whole. The file of recovery points says 2. Where is the"
        " recovery point after the start?",
        recovery_point_after_unclean,
        "Everything was read and found good, but being read is not being flushed.",
        {0: "0", 2: "2", 8: "8"},
        card="has its recovery point where the checkpoint was: reading is not flushing",
        replies={
            0: "A kill takes nothing back of what was flushed, and the file says so up to 2.",
            8: "The start has read all of it, and flushed nothing.",
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
            "nothing": "whether its index leads to the right bytes of its `.log`",
            "behind": "whether sound batches lie behind the place of the cut",
            "epochs": "the leader epochs of its batches",
        },
        card="The load deletes the segments above a cut, even if they are sound",
        replies={
            "nothing": "The scan reads batches and builds the index anew. A wrong index shortens no log.",
            "epochs": "By epochs a follower cuts its log to follow a leader. It reports no invalid messages then.",
        },
    ),
)
