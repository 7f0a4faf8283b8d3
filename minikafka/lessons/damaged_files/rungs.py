"""The ladder of the lesson *Damaged and missing files*: what a start trusts, and a log that ends below its start."""

from minikafka.common.errors import CorruptIndexException
from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.reopened import FIVE_SEGMENTS, drawn, reopened_after
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.log_loader import LogLoader
from minikafka.log.log_segment import LogSegment

# Rung 1


def sanity_check(self, *, time_index_file_newly_created):
    if not self.offset_index_file.exists():
        raise FileNotFoundError(f"Offset index file {self.offset_index_file} does not exist")
    if time_index_file_newly_created:
        self.time_index.resize(0)
    self.txn_index.sanity_check()


def _trusts(*, missing_index=False, new_time_index=False, transactions=False, missing_time_index=True):
    """A version that passes over one of the questions, or asks one too many."""

    def version(self, *, time_index_file_newly_created):
        if not missing_index and not self.offset_index_file.exists():
            raise FileNotFoundError("the offset index does not exist")
        if time_index_file_newly_created and not missing_time_index:
            raise CorruptIndexException("the time index was missing")
        if time_index_file_newly_created and not new_time_index:
            self.time_index.resize(0)
        if not transactions:
            self.txn_index.sanity_check()

    return version


_ABORTED = (
    "config index.interval.bytes=60\nappend_as_leader [7x10 pid=7 epoch=0 seq=0 txn]\nroll leo\n"
    "append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]\n"
    + "append_as_leader [2x10]\n"
    * 6
)
"""An aborted transaction that ends at 7, where the second segment begins."""

trusts = Rung(
    "Rung 1, which segment is suspect",
    LogSegment.sanity_check,
    why="After a clean stop this is the only check of a segment. Damage that it does not find stays.",
    invariants=(
        "If the offset index is missing, it raises `FileNotFoundError`. Then the loader recovers the segment.",
        "If the transaction index is bad, `self.txn_index.sanity_check()` raises `CorruptIndexException`. Then the "
        "loader recovers the segment, too.",
        "If the time index has just been created, it is emptied with `self.time_index.resize(0)`. No exception is "
        "raised.",
        "The contents of the offset index and of the time index are not checked.",
    ),
    chosen=(
        reopened_after("remove:1.index", "remove:1.timeindex", "flip:1.index:7", clean=True),
        reopened_after("remove:0.index", clean=False),
        reopened_after("flip:1.txnindex:25", clean=True, before=_ABORTED),
        reopened_after("flip:1.txnindex:25,remove:1.timeindex", clean=True, before=_ABORTED),
    ),
    profiles=drawn("remove:1.index", "remove:0.timeindex", "remove:-1.index", "remove:-1.timeindex"),
    returns=(type(None),),
    raises=(FileNotFoundError,),
    solution=sanity_check,
    beliefs=(
        Belief(
            _trusts(missing_index=True),
            "You ignore a missing offset index. It would be created without entries, and stay empty after a clean "
            "stop.",
        ),
        Belief(
            _trusts(new_time_index=True),
            "You keep a new time index at its full length. After the next load its zeros would count as entries.",
        ),
        Belief(
            _trusts(transactions=True),
            "You do not check the transaction index. With a bad one, readers get aborted records.",
        ),
        Belief(
            _trusts(missing_time_index=False),
            "You raise an exception for a missing time index. Kafka creates an empty one and continues.",
        ),
    ),
    hints=(
        "First check `self.offset_index_file.exists()`. Do it before you use `self.offset_index`, which creates the "
        "file.",
        "`time_index_file_newly_created` says that the file was missing; `self.time_index.resize(0)` empties it.",
        "`self.txn_index.sanity_check()` raises the exception itself. Do not catch it.",
    ),
)


# Rung 2


def _delete_segments_if_log_start_greater_than_log_end(self):
    if self.segments.is_empty:
        return None
    log_end = self.segments.active_segment.read_next_offset()
    if log_end >= self.log_start_offset_checkpoint:
        return log_end
    self._remove_and_delete_segments_async(list(self.segments.values()))
    self.leader_epoch_cache.clear_and_flush()
    self.producer_state_manager.truncate_fully_and_start_at(self.log_start_offset_checkpoint)
    return None


def _empties(*, is_below=lambda end, start: end < start, epochs=True, tells_none=True, removes=True):
    """A version with another comparison, or that leaves something behind."""

    def version(self):
        if self.segments.is_empty:
            return None
        log_end = self.segments.active_segment.read_next_offset()
        if not is_below(log_end, self.log_start_offset_checkpoint):
            return log_end
        if removes:
            self._remove_and_delete_segments_async(list(self.segments.values()))
            if epochs:
                self.leader_epoch_cache.clear_and_flush()
            self.producer_state_manager.truncate_fully_and_start_at(self.log_start_offset_checkpoint)
        return None if tells_none else log_end

    return version


def _started_at(offset: int, damage: str, clean: bool = False) -> str:
    """The five segments with a checkpointed log start; then damage, and more records."""
    return (
        FIVE_SEGMENTS.replace("append_as_leader [2x10]\n", "append_as_leader leader_epoch=2 [2x10]\n")
        + f"update_high_watermark leo\nmaybe_increment_log_start_offset {offset}\ncheckpoint\n"
        + f"reopen clean={str(clean).lower()} damage={damage}\nappend_as_leader leader_epoch=2 [1x10]\n"
    )


empties = Rung(
    "Rung 2, a log that ends below its start",
    LogLoader._delete_segments_if_log_start_greater_than_log_end,
    why="If a log ends below its log start, segments were lost, and all remaining records had been deleted before. A "
    "reader must not see them again.",
    invariants=(
        "If the log has no segments, it returns None.",
        "It compares the log end with `self.log_start_offset_checkpoint`. A log that ends exactly at its log start "
        "is only empty, and stays.",
        "If the log ends below it, all segments, epochs and producers are deleted, and it returns None. The load "
        "then continues as with an empty directory.",
        "Otherwise it returns the log end.",
    ),
    chosen=(
        _started_at(26, "remove:4.log"),
        _started_at(26, "cut:-1.log:190"),
        _started_at(24, "remove:4.log"),
        _started_at(26, "cut:-1.log:95"),
        _started_at(20, "cut:0.log:20"),
        _started_at(27, "remove:-1.log", clean=True),
        FIVE_SEGMENTS + "reopen clean=false damage=cut:1.log:10\nread start\nappend_as_leader [1x10]\n",
        # An older .log is put back: after a clean stop its end is the recovery point, whatever the checkpoint says.
        "append_as_leader [2x10]\n" * 3
        + "reopen damage=copy:0.log:kept\ntruncate_to 4\nreopen damage=rename:kept:0.log\nappend_as_leader [1x10]\n",
    ),
    profiles=drawn("remove:-1.log", "cut:-1.log:200", "cut:0.log:20", "remove:0.index", epochs=True),
    returns=(int, type(None)),
    solution=_delete_segments_if_log_start_greater_than_log_end,
    beliefs=(
        Belief(
            _empties(is_below=lambda end, start: end <= start),
            "You empty a log that ends at its log start. It has lost nothing; its epochs and snapshots must stay.",
        ),
        Belief(
            _empties(epochs=False),
            "You keep the epochs. They name offsets of records that are deleted.",
        ),
        Belief(
            _empties(removes=False),
            "You only return None. The segments, which hold deleted records, are still there.",
        ),
        Belief(
            _empties(tells_none=False),
            "You return the old log end. The log begins again at the checkpointed log start: return None.",
        ),
    ),
    hints=(
        "`self.segments.is_empty`, then `self.segments.active_segment.read_next_offset()` for the log end.",
        "`self._remove_and_delete_segments_async(list(self.segments.values()))` deletes all segments.",
        "`self.leader_epoch_cache.clear_and_flush()`, and "
        "`self.producer_state_manager.truncate_fully_and_start_at(self.log_start_offset_checkpoint)`.",
    ),
)

LADDER = (trusts, empties)
"""The rungs in the order in which they are climbed."""
