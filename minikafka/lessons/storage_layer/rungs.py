"""The ladder of the lesson *Background tasks*: which log starts are noted, what is flushed and deleted when."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import LOG_DIRECTORY
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.log_dir_name import log_delete_dir_name, log_stray_dir_name
from minikafka.log.manager import log_dir_checkpoints
from minikafka.log.manager.log_manager import LogManager

_TOPICS = (
    "topic audit retention.ms=100000\ntopic orders flush.ms=60000\n"
    "topic state cleanup.policy=compact,delete retention.ms=50000\ntopic users flush.ms=20000 retention.bytes=300\n"
)
_BEGIN = _TOPICS + "start\ncreate orders-0\ncreate users-0\n"


def _drawn(*weights, **fixed):
    """Knobs for workloads in which these operations are drawn more or less often, with these times of the tasks."""
    return tuple({"fixed": fixed, "weights": each} for each in weights)


# Rung 1


def log_starts_to_checkpoint(logs):
    return {
        partition: log.log_start_offset
        for partition, log in logs.items()
        if log.log_start_offset > log.log_segments[0].base_offset
    }


def _noted(which):
    def version(logs):
        return {partition: log.log_start_offset for partition, log in logs.items() if which(log)}

    return version


def _the_first_bases(logs):
    return {partition: log.log_segments[0].base_offset for partition in logs if (log := logs[partition])}


_CUT_INSIDE = (
    _BEGIN + "append orders-0 [3x10]\nroll orders-0\nappend orders-0 [3x10]\nappend users-0 [4x10]\ntick 30000\n"
    "delete_records orders-0 2\ntick 60000\ndelete_records orders-0 3\ndelete_records users-0 4\ntick 60000\n"
    "append users-0 [1x10]\nkill\nstart\ntick 300000\nstop\nstart\n"
)

starts = Rung(
    "Rung 1, which log starts are noted",
    log_dir_checkpoints.log_starts_to_checkpoint,
    why="A start that is noted nowhere is forgotten by a crash: records that were deleted are back.",
    invariants=(
        "It only asks: its answer is a dict, partition → log start.",
        "A log that starts inside its first segment is in it: no file name tells where.",
        "A log that starts where its first segment begins is not in it.",
        "It goes by the log's present segments. After old ones are deleted a log may drop out again.",
    ),
    chosen=(_CUT_INSIDE,),
    profiles=_drawn({"delete_records": 25}, {"delete_records": 25}, {"delete_records": 20, "kill": 8}),
    returns=(dict,),
    changes_nothing=True,
    harness=LOG_DIRECTORY,
    solution=log_starts_to_checkpoint,
    beliefs=(
        Belief(
            _noted(lambda log: True),
            "You note every log. Kafka's file has only those whose start the name of a segment does not tell.",
        ),
        Belief(
            _noted(lambda log: log.log_start_offset > 0),
            "You note every log that does not start at 0. After retention a log starts where its first segment does: "
            "the file's name tells that.",
        ),
        Belief(
            _noted(lambda log: log.log_start_offset > log.active_segment.base_offset),
            "You compare with the active segment. A log may start inside an older one.",
        ),
        Belief(
            _the_first_bases, "You note where the first segment begins. That is known; where the log starts is not."
        ),
    ),
    hints=(
        "`logs` is a dict; go through `logs.items()`.",
        "`log.log_start_offset` is where the log starts; `log.log_segments[0].base_offset` is where its first segment "
        "begins.",
        "Keep those where the first is greater than the second.",
    ),
)


# Rung 2


def _flush_dirty_logs(self):
    for log in self.all_logs:
        if self.time.milliseconds() - log.last_flush_time >= log.config.flush_ms:
            log.flush(force_flush_active_segment=False)


def _flushes(*, is_due, ends_with_the_first=False):
    def version(self):
        for log in self.all_logs:
            if is_due(self, log, self.time.milliseconds() - log.last_flush_time):
                log.flush(force_flush_active_segment=False)
                if ends_with_the_first:
                    return

    return version


_DUE = (
    "manager flush_check_ms=20000\n" + _BEGIN + "create audit-0\nappend orders-0 [3x10]\nappend users-0 [1x10]\n"
    "append audit-0 [1x10]\ntick 30000\nappend users-0 [2x10]\ntick 10000\ntick 10000\nappend orders-0 [1x10]\n"
    "tick 20000\ntick 20000\nappend users-0 [1x10]\nroll orders-0\nappend orders-0 [1x10]\ntick 40000\ntick 60000\n"
    "kill\nstart\n"
)

flushes = Rung(
    "Rung 2, which logs are flushed",
    LogManager._flush_dirty_logs,
    why="What is not flushed is lost with the machine's power, if no other replica has it.",
    invariants=(
        "It is called each time the flusher's period is over.",
        "A log is flushed when its last flush is `flush.ms` ago or more, by the log's own settings.",
        "All others are left alone, whatever is not flushed of them.",
        "It returns nothing.",
    ),
    chosen=(_DUE,),
    profiles=_drawn({"append": 40}, {"append": 40, "tick": 30}, {"kill": 6}, flush_check_ms=20_000),
    returns=(type(None),),
    harness=LOG_DIRECTORY,
    solution=_flush_dirty_logs,
    beliefs=(
        Belief(
            _flushes(is_due=lambda self, log, since_ms: since_ms > log.config.flush_ms),
            "You pass over a log whose last flush is exactly `flush.ms` ago. It is due.",
        ),
        Belief(
            _flushes(is_due=lambda self, log, since_ms: True),
            "You flush every log each time. Each has a `flush.ms` of its own, by default without an end.",
        ),
        Belief(
            _flushes(
                is_due=lambda self, log, since_ms: since_ms >= self.configs.current_default_config.flush_ms,
            ),
            "You go by the broker's `flush.ms`. A topic may have set its own: ask the log's settings.",
        ),
        Belief(
            _flushes(
                is_due=lambda self, log, since_ms: since_ms >= log.config.flush_ms,
                ends_with_the_first=True,
            ),
            "You stop after the first log that is due. The others wait for another period.",
        ),
    ),
    hints=(
        "`self.all_logs` has all logs, and `self.time.milliseconds()` is the time.",
        "Of a log: `last_flush_time` (ms) and `config.flush_ms`.",
        "`log.flush(force_flush_active_segment=False)` flushes it.",
    ),
)


# Rung 3


def _cleanup_logs(self):
    if self.cleaner is None:
        logs = {partition: log for partition, log in self.current_logs.items() if not log.config.compact}
    else:
        logs = self.cleaner.pause_cleaning_for_non_compacted_partitions()
    try:
        for partition, log in logs.items():
            log.delete_old_segments()
            future_log = self.get_log(partition, is_future=True)
            if future_log is not None:
                future_log.delete_old_segments()
    finally:
        if self.cleaner is not None:
            self.cleaner.resume_cleaning(logs)


def _deletes_from_all(self):
    for log in self.all_logs:
        log.delete_old_segments()


def _retains(*, resumes=True, ends_with_the_first=False, which=lambda log: True):
    def version(self):
        logs = self.cleaner.pause_cleaning_for_non_compacted_partitions()
        for log in filter(which, logs.values()):
            if log.delete_old_segments() and ends_with_the_first:
                break
        if resumes:
            self.cleaner.resume_cleaning(logs)

    return version


_OLD = (
    "manager retention_check_ms=60000\n" + _BEGIN + "create audit-0\ncreate state-0\nappend audit-0 [2x100]\n"
    "append state-0 [2x100 keys=2]\nappend users-0 [2x100]\nroll users-0\nroll audit-0\nroll state-0\n"
    "append users-0 [2x100]\nappend audit-0 [1x100]\ntick 30000\ntick 60000\nroll users-0\nappend users-0 [2x100]\n"
    "tick 60000\nappend audit-0 [1x10]\nappend orders-0 [1x10]\ntick 61000\ntick 61000\nroll users-0\n"
    "append users-0 [3x100]\ntick 61000\nkill\nstart\n"
)

retains = Rung(
    "Rung 3, a run of the retention task",
    LogManager._cleanup_logs,
    why="Disk space comes back here, for all logs but those that the cleaner keeps small.",
    invariants=(
        "Each log that is not compacted deletes its own old segments, and so does its future log, if there is one.",
        "A compacted log is passed over, also one with `compact,delete`.",
        "While it works the cleaner stays away from those logs, and afterwards it may come again, whatever happened.",
        "It returns nothing.",
    ),
    chosen=(_OLD,),
    profiles=_drawn(
        {"roll": 20}, {"roll": 20, "tick": 30}, {"roll": 16, "delete_records": 16}, retention_check_ms=60_000
    ),
    returns=(type(None),),
    harness=LOG_DIRECTORY,
    solution=_cleanup_logs,
    beliefs=(
        Belief(
            _deletes_from_all,
            "You ask every log. Compacted ones are the cleaner's: its threads also delete the old segments of those "
            "with `compact,delete`.",
        ),
        Belief(
            _retains(resumes=False),
            "You never let the cleaner come again. What is paused is passed over by the next run as well.",
        ),
        Belief(_retains(ends_with_the_first=True), "You stop after the first log that had something to delete."),
        Belief(
            _retains(which=lambda log: log.config.retention_size < 0),
            "You pass over logs with a limit of size. `delete_old_segments` knows all three rules: start, age, size.",
        ),
    ),
    hints=(
        "`self.cleaner.pause_cleaning_for_non_compacted_partitions()` gives the logs, by their partitions, and keeps "
        "the cleaner away from them.",
        "`log.delete_old_segments()` does the rest; `self.get_log(partition, is_future=True)` is the future log, or "
        "None.",
        "At the end `self.cleaner.resume_cleaning(logs)`, in a `finally`.",
    ),
)


# Rung 4


def async_delete(self, topic_partition, *, is_future=False, checkpoint=True, is_stray=False):
    logs = self.future_logs if is_future else self.current_logs
    log = logs.pop(topic_partition, None)
    if log is None:
        return None
    if self.cleaner is not None and not is_future:
        self.cleaner.abort_cleaning(topic_partition)
        if checkpoint:
            self.cleaner.update_checkpoints(log.dir.parent, topic_partition)
    if is_stray:
        log.rename_dir(log_stray_dir_name(topic_partition), should_reinitialize=False)
    else:
        log.rename_dir(log_delete_dir_name(topic_partition), should_reinitialize=False)
        self.logs_to_be_deleted.add(log)
    if checkpoint:
        self._checkpoint_dir(log.dir.parent)
    return log


def _takes_away(*, forgets=True, name=log_delete_dir_name, waits=True, at_once=False, notes=True):
    """A version that leaves out one of the steps, or takes another name."""

    def version(self, topic_partition, *, is_future=False, checkpoint=True, is_stray=False):
        log = self.current_logs.pop(topic_partition, None) if forgets else self.get_log(topic_partition)
        if log is None:
            return None
        self.cleaner.abort_cleaning(topic_partition)
        self.cleaner.update_checkpoints(log.dir.parent, topic_partition)
        log_dir = log.dir.parent
        if name is not None:
            log.rename_dir(name(topic_partition), should_reinitialize=False)
        if at_once:
            log.delete()
        elif waits:
            self.logs_to_be_deleted.add(log)
        if notes:
            self._checkpoint_dir(log_dir)
        return log

    return version


_DELETED = (
    _BEGIN + "append orders-0 [3x10]\nappend users-0 [5x10]\nroll orders-0\ndelete_records users-0 2\ntick 30000\n"
    "delete orders-0\ntick 30000\ncreate orders-0\nappend orders-0 [1x10]\ntick 30000\ndelete users-0\ntick 50000\n"
    "delete orders-0\nstop\nstart\ntick 50000\ntick 20000\n"
)

takes_away = Rung(
    "Rung 4, a log is deleted",
    LogManager.async_delete,
    why="It must be gone at once for whoever asks, and stay readable for whoever is still reading.",
    invariants=(
        "Afterwards nobody finds the log under its partition. It is returned, or None where there was none.",
        "The cleaner stops what it does with it, and forgets it.",
        "The new name of its directory says what becomes of it: `-delete`, or `-stray` for a log that is put aside.",
        "A log that is to be deleted waits in the queue, and its files stay until its time has come.",
        "With `checkpoint`, the checkpoints of its log directory are written without it.",
    ),
    chosen=(_DELETED,),
    profiles=_drawn({"delete": 12, "create": 12}, {"delete": 12, "create": 12}, {"delete": 8, "create": 8, "stop": 8}),
    harness=LOG_DIRECTORY,
    solution=async_delete,
    beliefs=(
        Belief(
            _takes_away(at_once=True),
            "You delete the files at once. A reader of them fails; they wait, the broker's"
            " `log.segment.delete.delay.ms`.",
        ),
        Belief(
            _takes_away(waits=False),
            "You rename the directory, and nobody deletes it. Add the log to `self.logs_to_be_deleted`.",
        ),
        Belief(
            _takes_away(notes=False),
            "You leave the partition in the checkpoints. A new log of that name would get the old one's offsets "
            "after a crash.",
        ),
        Belief(
            _takes_away(forgets=False), "Your log is still found. Take it out of the map first: who asks gets None."
        ),
        Belief(
            _takes_away(name=log_stray_dir_name),
            "You name the directory `-stray`. The next start puts such a log aside, and deletes it never.",
        ),
    ),
    hints=(
        "`self.current_logs.pop(topic_partition, None)` takes the log out (`self.future_logs` with `is_future`).",
        "The cleaner: `self.cleaner.abort_cleaning(topic_partition)`, and with `checkpoint` "
        "`self.cleaner.update_checkpoints(log.dir.parent, topic_partition)`; neither for a future log.",
        "`log.rename_dir(log_delete_dir_name(topic_partition), should_reinitialize=False)`, then "
        "`self.logs_to_be_deleted.add(log)`; for a stray log `log_stray_dir_name`, and no queue.",
        "At last `self._checkpoint_dir(log.dir.parent)`, which writes both checkpoints.",
    ),
)


LADDER = (starts, flushes, retains, takes_away)
"""The rungs in the order in which they are climbed."""
