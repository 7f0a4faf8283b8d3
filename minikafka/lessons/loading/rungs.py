"""The ladder of the lesson *Loading*: which files go, what a `.swap` replaces, where a log ends, and what stays."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
from minikafka.log.log_loader import LogLoader
from minikafka.log.log_segment import LogSegment
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.snapshot_file import load_snapshots

_FIVE_SEGMENTS = "config internal.segment.bytes=300 index.interval.bytes=60\n" + "append_as_leader [2x10]\n" * 14
"""They begin at 0, 6, 12, 18 and 24; each batch has 95 bytes."""

_REPLACEMENTS = (
    "copy:1.log:0.log.swap",
    "copy:0.log:0.log.swap,copy:3.log:3.log.swap",
    "copy:0.log:0.log.swap,copy:0.index:0.index.swap,rename:1.log:1.log.deleted",
    "copy:2.log:2.log.swap,copy:0.log:0.log.cleaned",
    "copy:1.log:0.log.swap,copy:0.index:0.index.cleaned",
    "copy:1.log:0.log.swap,copy:3.log:3.log.cleaned",
    "copy:0.log:@3.log.deleted",
)


def _after(*damages: str, clean: bool = True) -> str:
    """Lines of a workload: the five segments, and a reopening after each of the damages."""
    reopened = "".join(f"reopen clean={str(clean).lower()} damage={each}\nread start\n" for each in damages)
    return _FIVE_SEGMENTS + reopened + "append_as_leader [1x10]\n"


def _drawn(*damages: str, **knobs):
    """Workloads in which the log is reopened often, now and then after a kill, with these damages."""
    knobs = {"unclean": True, "refused": 0.0, "damages": damages, **knobs}
    return (
        {**knobs, "weights": {"reopen": 12, "roll": 6}},
        {**knobs, "epochs": True, "weights": {"reopen": 12, "roll": 6, "epochs": 8}},
        {**knobs, "producers": 2, "weights": {"reopen": 12, "roll": 6}},
    )


# Rung 1


def _remove_temp_files_and_collect_swap_files(self):
    swaps, cleaned = [], []
    for file in self._files():
        if file.name.endswith(".deleted"):
            file.unlink()
        elif file.name.endswith(".cleaned"):
            cleaned.append(file)
        elif file.name.endswith(".swap"):
            swaps.append(file)
    offsets = [int(file.name[:20]) for file in cleaned]
    complete = []
    for file in swaps:
        if offsets and int(file.name[:20]) >= min(offsets):
            file.unlink()
        else:
            complete.append(file)
    for file in cleaned:
        file.unlink()
    return complete


def _collects(*, is_dropped=lambda offset, cleaned: bool(cleaned) and offset >= min(cleaned), leaves=()):
    """A version with another rule for `.swap` files, or that leaves files of some endings."""

    def version(self):
        files = self._files()
        cleaned = [int(file.name[:20]) for file in files if file.name.endswith(".cleaned")]
        swaps = [file for file in files if file.name.endswith(".swap")]
        gone = [file for file in swaps if is_dropped(int(file.name[:20]), cleaned)]
        for file in files:
            if file in gone or file.name.endswith((".deleted", ".cleaned")) and not file.name.endswith(leaves):
                file.unlink()
        return [file for file in swaps if file not in gone]

    return version


collects = Rung(
    "Rung 1, which files are leftovers",
    LogLoader._remove_temp_files_and_collect_swap_files,
    why="Phase 1 of a load: the file names show at which step a replacement of segments was interrupted.",
    invariants=(
        "It deletes all `.deleted` and all `.cleaned` files.",
        "A replacement renames its files to `.swap` from the highest offset down. While a file is still `.cleaned`, "
        "the `.swap` files at or above its offset are not complete, and are deleted.",
        "The other `.swap` files stay, and the method returns the list of their paths.",
        "It does not touch other files.",
    ),
    chosen=(
        *(_after(each) for each in _REPLACEMENTS),
        _after(*_REPLACEMENTS[:3], clean=False),
        # 6 is below 18, and above what the first nineteen digits of it say.
        _after("copy:2.log:1.log.swap,copy:3.log:3.log.cleaned"),
    ),
    profiles=_drawn(*_REPLACEMENTS),
    returns=(list,),
    solution=_remove_temp_files_and_collect_swap_files,
    beliefs=(
        Belief(
            _collects(is_dropped=lambda offset, cleaned: False),
            "You keep every .swap. One at or above the lowest .cleaned offset is not complete: some of its own files "
            "may be missing.",
        ),
        Belief(
            _collects(is_dropped=lambda offset, cleaned: bool(cleaned) and offset > min(cleaned)),
            "You keep a .swap at the lowest .cleaned offset. The rule is ≥: another file of that segment is not "
            "renamed yet.",
        ),
        Belief(
            _collects(is_dropped=lambda offset, cleaned: bool(cleaned)),
            "You delete every .swap if one file is .cleaned. Those below the lowest .cleaned offset stay.",
        ),
        Belief(
            _collects(is_dropped=lambda offset, cleaned: True),
            "You delete every .swap. When all files are .swap, the old segments may already be deleted, and these "
            "are the only copies.",
        ),
        Belief(
            _collects(leaves=(".deleted",)),
            "You keep .deleted files. The task that should delete them no longer exists.",
        ),
        Belief(
            _collects(leaves=(".cleaned",)),
            "You keep .cleaned files. At the next load they would look like a replacement that is not finished.",
        ),
    ),
    hints=(
        "`self._files()` gives the paths, sorted by name. `int(file.name[:20])` is the offset, and `file.unlink()` "
        "deletes the file.",
        "First find the lowest offset of all `.cleaned` files, of `.log` and indexes. There may be none.",
        "Delete each `.swap` whose offset is ≥ that one, and return the others.",
    ),
)


# Rung 2


def _delete_segments_replaced_by(self, swap_files):
    lowest, highest = None, None
    for file in swap_files:
        if file.name.endswith(".log.swap"):
            base = int(file.name[:20])
            segment = LogSegment.open(self.dir, base, self.config, self.time, file_suffix=".swap")
            end = segment.read_next_offset()
            segment.close_handlers()
            lowest = base if lowest is None else min(lowest, base)
            highest = end if highest is None else max(highest, end)
    if lowest is None:
        return
    for file in self._files():
        number = file.name.partition(".")[0]
        if number.isdigit() and not file.name.endswith(".swap") and lowest <= int(number) < highest:
            file.unlink()


def _replaces(*, goes=lambda base, ranges: min(ranges)[0] <= base < max(end for _, end in ranges), kinds=""):
    """A version with another rule for bases (`ranges` of the `.swap` segments), or for files of some ending alone."""

    def version(self, swap_files):
        ranges = []
        for file in swap_files:
            if file.name.endswith(".log.swap"):
                base = int(file.name[:20])
                segment = LogSegment.open(self.dir, base, self.config, self.time, file_suffix=".swap")
                ranges.append((base, segment.read_next_offset()))
                segment.close_handlers()
        for file in self._files() if ranges else ():
            number = file.name.partition(".")[0]
            if number.isdigit() and not file.name.endswith(".swap") and file.name.endswith(kinds):
                if goes(int(number), ranges):
                    file.unlink()

    return version


replaces = Rung(
    "Rung 2, what a .swap replaces",
    LogLoader._delete_segments_replaced_by,
    kafka="LogLoader.load",
    why=(
        "Phase 2 of a load. In Kafka these lines are in `load` itself. If a record stayed in two segments, it would "
        "be read twice."
    ),
    invariants=(
        "Only a `.log.swap` counts as a new segment; `swap_files` may name indexes, too.",
        "There is one range for all new segments: from their lowest base (inclusive) to their highest end (exclusive).",
        "It deletes all files whose offset is in this range, of every kind, except `.swap` files.",
        "Without a new segment it deletes nothing.",
    ),
    chosen=(
        *(_after(each) for each in _REPLACEMENTS[:3]),
        _after(*_REPLACEMENTS[:2], clean=False),
        # The lower one of two new segments has the highest end.
        _after("copy:3.log:0.log.swap,copy:1.log:1.log.swap"),
    ),
    profiles=_drawn(*_REPLACEMENTS[:4]),
    returns=(type(None),),
    solution=_delete_segments_replaced_by,
    beliefs=(
        Belief(
            _replaces(goes=lambda base, ranges: any(low <= base < end for low, end in ranges)),
            "You use one range for each new segment. There is only one range: segments in between are deleted, too.",
        ),
        Belief(
            _replaces(goes=lambda base, ranges: base in dict(ranges)),
            "You delete only the segment of the same base. A new segment replaces all segments in its range of "
            "offsets.",
        ),
        Belief(
            _replaces(goes=lambda base, ranges: min(ranges)[0] <= base <= max(end for _, end in ranges)),
            "You delete the segment that begins where the new ones end. The end of the range is exclusive.",
        ),
        Belief(
            _replaces(kinds=".log"),
            "You delete only .log files. Then an old index would belong to the new segment, with wrong positions.",
        ),
        Belief(_replaces(goes=lambda base, ranges: False), "You delete nothing. Old and new segments would overlap."),
    ),
    hints=(
        '`LogSegment.open(self.dir, base, self.config, self.time, file_suffix=".swap")` opens a new segment; close it '
        "with `close_handlers()`.",
        "`read_next_offset()` of the segment gives its end: one more than its last offset.",
        "Then go through `self._files()`. A name without a number before the first dot does not belong to a segment.",
    ),
)


# Rung 3


def read_next_offset(self):
    data = self.read(self.offset_index.last_offset, self.size)
    last = None if data is None else data.records.last_batch()
    return self.base_offset if last is None else last.next_offset


def _ends(*, empty=lambda segment: segment.base_offset, more=1, by_index=False):
    """A version that says something else of an empty segment, or of the last batch."""

    def version(self):
        if by_index and self.offset_index.entries:
            return self.offset_index.last_offset + 1
        batches = list(self.log.batches())
        return batches[-1].last_offset + more if batches else empty(self)

    return version


def _counts_records(self):
    return self.base_offset + sum(sum(1 for _ in batch) for batch in self.log.batches())


ends = Rung(
    "Rung 3, where a segment ends",
    LogSegment.read_next_offset,
    why="After a clean stop, the answer for the last segment is the log end offset: the offset that the next record "
    "gets.",
    invariants=(
        "It changes nothing.",
        "It returns one more than the last offset of the last batch. Offsets may have gaps.",
        "For a segment without a batch it returns the base offset.",
        "The index may help to find the last batch, but it does not contain the end of that batch.",
    ),
    chosen=(
        "config internal.segment.bytes=1000 index.interval.bytes=150\n"
        + "append_as_leader [2x10]\n" * 4
        + "reopen\nappend_as_leader [2x10]\nread 0\n",
        "append_as_leader [2x10]\nroll leo\nreopen\nappend_as_leader [1x10]\n",
        "config retention.bytes=0\nappend_as_leader [2x10]\nupdate_high_watermark leo\ndelete_old_segments\nreopen\n"
        "append_as_leader [1x10]\n",
        "append_as_follower [2x10 offset=leo+3]\nappend_as_follower [2x10 offset=leo+10]\nreopen\n",
    ),
    profiles=(
        {"unclean": True, "weights": {"reopen": 10, "roll": 6}},
        {"follower": True, "epochs": True, "weights": {"reopen": 10}},
        {"weights": {"reopen": 10, "retention": 15, "high_watermark": 20}},
    ),
    returns=(int,),
    changes_nothing=True,
    solution=read_next_offset,
    beliefs=(
        Belief(
            _ends(by_index=True),
            "You use the last index entry as the end. Batches after it have no entry; read on to the end of the file.",
        ),
        Belief(_ends(more=0), "You return the last offset. The end is one more; no record has it yet."),
        Belief(
            _ends(empty=lambda segment: 0),
            "You return 0 for an empty segment. It ends at its base offset.",
        ),
        Belief(
            _counts_records,
            "You count records. Offsets may have gaps, for instance after compaction.",
        ),
    ),
    hints=(
        "`self.log.batches()` goes from batch to batch; a batch has `last_offset` and `next_offset`.",
        "Without a batch the answer is `self.base_offset`.",
        "You need not read everything: `self.read(self.offset_index.last_offset, self.size)` begins at the batch of "
        "the last entry, and `.records.last_batch()` of its answer is the last batch.",
    ),
)


# Rung 4


def truncate_from_end_async_flush(self, end_offset):
    with self._lock:
        late = [entry for entry in self.epoch_entries if entry.start_offset >= end_offset]
        for entry in late:
            self._epochs.pop(entry.epoch)
        if late:
            self._schedule_flush()


def _truncates(*, late=lambda entry, end: entry.start_offset >= end, writes=True, only_last=False):
    """A version that drops other entries, or does not write the file."""

    def version(self, end_offset):
        with self._lock:
            found = [entry for entry in self.epoch_entries if late(entry, end_offset)]
            for entry in found[-1:] if only_last else found:
                self._epochs.pop(entry.epoch)
            if found and writes:
                self._schedule_flush()

    return version


_TORN = ("cut:-1.log:10", "cut:-1.log:250", "cut:1.log:10", "cut:0.log:100", "flip:0.log:-4")
_EPOCHS = (
    "config internal.segment.bytes=300\nappend_as_leader [2x10]\n"
    "append_as_leader leader_epoch=1 [2x10]\nappend_as_leader leader_epoch=2 [2x10]\n"
    "append_as_leader leader_epoch=5 [2x10]\n"
)

cuts_epochs = Rung(
    "Rung 4, epochs beyond the end",
    LeaderEpochFileCache.truncate_from_end_async_flush,
    why=(
        "A follower asks where an epoch ended, and truncates its log there. So this log must not name an epoch of "
        "which it has no record."
    ),
    invariants=(
        "It removes every entry whose `start_offset` is at or above `end_offset`. The others do not change.",
        "If it removed an entry, it calls `self._schedule_flush()`, so that the file is written.",
        "It returns nothing.",
    ),
    chosen=(
        _EPOCHS + "reopen clean=false damage=cut:1.log:1\nend_offset_for_epoch 5\n",
        _EPOCHS + "truncate_to 4\nend_offset_for_epoch 2\nreopen clean=false\n",
        _EPOCHS + "truncate_to 5\nreopen\n",
        _EPOCHS + "reopen clean=false damage=cut:0.log:200\ntick 0\nreopen clean=false\n",
    ),
    profiles=tuple(
        {**each, "epochs": True, "weights": {"reopen": 10, "epochs": 10, "truncate": 8}} for each in _drawn(*_TORN)
    ),
    returns=(type(None),),
    solution=truncate_from_end_async_flush,
    beliefs=(
        Belief(
            _truncates(late=lambda entry, end: entry.start_offset > end),
            "You keep an entry that begins at the end. This log has no record of its epoch.",
        ),
        Belief(
            _truncates(late=lambda entry, end: entry.epoch >= end),
            "You compare epochs with an offset. Use `start_offset`, the offset at which an epoch began.",
        ),
        Belief(_truncates(only_last=True), "You remove only one entry. Remove all that begin at or above the end."),
        Belief(_truncates(writes=False), "You never write the file: after the next crash the entries are back."),
        Belief(
            _truncates(late=lambda entry, end: False),
            "You remove nothing. The cache would name epochs of which the log has no record.",
        ),
    ),
    hints=(
        "`self.epoch_entries` lists the entries (`epoch`, `start_offset`); `self._epochs.pop(epoch)` removes one.",
        "Remove the entries with `start_offset >= end_offset`.",
        "Hold `self._lock` while you do it (`with self._lock:`). Call `self._schedule_flush()` only if you removed "
        "an entry.",
    ),
)


# Rung 5


def remove_stray_snapshots(self, segment_base_offsets):
    snapshots = load_snapshots(self._log_dir)
    strays = [snapshot for snapshot in snapshots.values() if snapshot.offset not in segment_base_offsets]
    for snapshot in strays:
        is_newest = snapshot is strays[-1]
        if not is_newest or snapshot.offset < max(segment_base_offsets, default=-1):
            snapshots.pop(snapshot.offset)
            snapshot.delete_if_exists()
    self._snapshots = snapshots


def _strays(goes):
    """A version with another rule: `goes(offset, bases, offsets of all strays)`."""

    def version(self, segment_base_offsets):
        snapshots = load_snapshots(self._log_dir)
        strays = [snapshot for snapshot in snapshots.values() if snapshot.offset not in segment_base_offsets]
        offsets = [snapshot.offset for snapshot in strays]
        for snapshot in strays:
            if goes(snapshot.offset, segment_base_offsets, offsets):
                snapshots.pop(snapshot.offset)
                snapshot.delete_if_exists()
        self._snapshots = snapshots

    return version


_PRODUCERS = (
    "config internal.segment.bytes=300 index.interval.bytes=60\nappend_as_leader [2x10 pid=7 epoch=0 seq=0]\n"
    + "tick 100000000\n"
    + "append_as_leader [2x10]\n" * 6
)
_SNAPSHOTS = (
    "copy:1.snapshot:@3.snapshot", "copy:-1.snapshot:@8.snapshot", "copy:1.snapshot:@1.snapshot", "remove:1.snapshot",
)  # fmt: skip

keeps_snapshots = Rung(
    "Rung 5, which snapshots stay",
    ProducerStateManager.remove_stray_snapshots,
    why="With a snapshot of the wrong moment a log accepts duplicates. So each load checks which snapshots to keep.",
    invariants=(
        "`load_snapshots(self._log_dir)` gives the snapshots, ascending by offset. It is like a dict: it has "
        "`values()` and `pop(offset)`. A snapshot has `offset` and `delete_if_exists()`.",
        "A snapshot at whose offset a segment begins stays.",
        "The others are called strays. Only the newest stray may stay: a clean stop wrote it at the log end. If a "
        "segment begins above it, it is deleted, too.",
        "It stores the remaining snapshots in `self._snapshots`.",
    ),
    chosen=(
        _PRODUCERS + "reopen\nappend_as_leader [2x10]\nreopen clean=false\n",
        _PRODUCERS + "reopen damage=copy:1.snapshot:@3.snapshot\nroll leo\nreopen\n",
        _PRODUCERS + "reopen damage=copy:1.snapshot:@13.snapshot\nappend_as_leader [2x10]\n",
        _PRODUCERS + "reopen damage=remove:@14.snapshot,copy:1.snapshot:@3.snapshot\nreopen\n",
        _PRODUCERS + "append_as_leader [2x10]\ntake_producer_snapshot\nappend_as_leader [2x10]\nroll leo\nreopen\n",
        # The load looks for the newest snapshot: one whose file is gone must not be found.
        _PRODUCERS + "reopen damage=remove:@14.snapshot,remove:@12.snapshot,copy:1.snapshot:@8.snapshot\n",
    ),
    profiles=_drawn(*_SNAPSHOTS, producers=2),
    returns=(type(None),),
    solution=remove_stray_snapshots,
    beliefs=(
        Belief(
            _strays(lambda offset, bases, strays: True),
            "You delete every snapshot at which no segment begins. The one at the log end was written for this load.",
        ),
        Belief(
            _strays(lambda offset, bases, strays: False),
            "You keep every snapshot. Strays that are not needed would accumulate: only the newest may stay.",
        ),
        Belief(
            _strays(lambda offset, bases, strays: offset != max(strays)),
            "You keep the newest stray in every case. If a segment begins above it, it is deleted, too.",
        ),
        Belief(
            _strays(lambda offset, bases, strays: offset < max(bases)),
            "You keep all strays above the last base offset. Only the newest of them stays.",
        ),
    ),
    hints=(
        "First the strays: snapshots whose `offset` is not among `segment_base_offsets`.",
        "Delete all strays but the last. Delete the last one, too, if `max(segment_base_offsets)` is above it.",
        "To delete one, do two things: `snapshots.pop(offset)`, and `snapshot.delete_if_exists()`.",
    ),
)

LADDER = (collects, replaces, ends, cuts_epochs, keeps_snapshots)
"""The rungs in the order in which they are climbed."""
