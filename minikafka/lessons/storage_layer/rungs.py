"""The ladder of the lesson *Background tasks*: which log starts are noted, what is flushed and deleted when."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import LOG_DIRECTORY
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.cleaner.log_cleaner import LogCleaner
from minikafka.log.log import Log
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
    why="A log start that is written nowhere is lost in a crash. Then deleted records can be read again.",
    invariants=(
        "It changes nothing. It returns a dict, partition → log start offset.",
        "A log whose log start is above the base offset of its first segment is in the dict, because no file name "
        "has its log start.",
        "A log whose log start equals that base offset is not in the dict.",
        "It uses the segments that the log has now. So after segments were deleted, a log may drop out of the dict.",
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
            "You return every log. Kafka's file has only logs whose log start is not the base offset of their first "
            "segment.",
        ),
        Belief(
            _noted(lambda log: log.log_start_offset > 0),
            "You return every log whose log start is not 0. After retention the log start is the base offset of the "
            "first segment, and the name of that file already has it.",
        ),
        Belief(
            _noted(lambda log: log.log_start_offset > log.active_segment.base_offset),
            "You compare with the active segment. The log start may be inside an older segment: compare with the "
            "first one.",
        ),
        Belief(
            _the_first_bases,
            "You return the base offset of the first segment. That is known from its file name; return the log "
            "start offset.",
        ),
    ),
    hints=(
        "`logs` is a dict: go through `logs.items()`.",
        "`log.log_start_offset` is the log start. `log.log_segments[0].base_offset` is the base offset of the first "
        "segment.",
        "Keep the logs for which the first is greater than the second.",
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
    why="If the power fails, records that are not flushed are lost, unless another replica has them.",
    invariants=(
        "A task calls it again and again, once in each period.",
        "It flushes a log if its last flush was `flush.ms` ago or longer. `flush.ms` is the log's own setting.",
        "It does not flush the others, even if they have records that are not flushed.",
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
            "You skip a log whose last flush was exactly `flush.ms` ago. It must be flushed.",
        ),
        Belief(
            _flushes(is_due=lambda self, log, since_ms: True),
            "You flush every log each time. Each log has its own `flush.ms`; the default means never.",
        ),
        Belief(
            _flushes(
                is_due=lambda self, log, since_ms: since_ms >= self.configs.current_default_config.flush_ms,
            ),
            "You use the broker's `flush.ms`. A topic may set its own: use the log's setting.",
        ),
        Belief(
            _flushes(
                is_due=lambda self, log, since_ms: since_ms >= log.config.flush_ms,
                ends_with_the_first=True,
            ),
            "You stop after the first log that is flushed. Then the others wait for another period.",
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
    why="This task frees disk space for all logs that are not compacted.",
    invariants=(
        "For each log that is not compacted, it calls `delete_old_segments()`, and also for its future log, if there "
        "is one.",
        "It skips compacted logs, also those with `compact,delete`.",
        "During its run the cleaner must stay away from these logs. Afterwards the cleaner may use them again, even "
        "after an exception.",
        "It returns nothing.",
    ),
    chosen=(_OLD, "cleaner off\n" + _OLD),
    profiles=_drawn(
        {"roll": 20}, {"roll": 20, "tick": 30}, {"roll": 16, "delete_records": 16}, retention_check_ms=60_000
    ),
    returns=(type(None),),
    harness=LOG_DIRECTORY,
    solution=_cleanup_logs,
    beliefs=(
        Belief(
            _deletes_from_all,
            "You call every log. The cleaner handles compacted logs: its threads also delete the old segments of "
            "those with `compact,delete`.",
        ),
        Belief(
            _retains(resumes=False),
            "You never call `resume_cleaning`. Logs that stay paused are skipped by the next run, too.",
        ),
        Belief(_retains(ends_with_the_first=True), "You stop after the first log that had something to delete."),
        Belief(
            _retains(which=lambda log: log.config.retention_size < 0),
            "You skip logs with a limit of size. `delete_old_segments` applies all three rules: log start, age, size.",
        ),
    ),
    hints=(
        "`self.cleaner.pause_cleaning_for_non_compacted_partitions()` returns the logs, as a dict by partition, and "
        "keeps the cleaner away from them.",
        "`log.delete_old_segments()` deletes the segments. `self.get_log(partition, is_future=True)` is the future "
        "log, or None.",
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
            self.cleaner.update_checkpoints(log.parent_dir, topic_partition)
    if is_stray:
        log.rename_dir(log_stray_dir_name(topic_partition), should_reinitialize=False)
    else:
        log.rename_dir(log_delete_dir_name(topic_partition), should_reinitialize=False)
        self.logs_to_be_deleted.add(log)
    if checkpoint:
        self._checkpoint_dir(log.parent_dir)
    return log


def _takes_away(*, forgets=True, name=log_delete_dir_name, waits=True, at_once=False, notes=True):
    """A version that leaves out one of the steps, or takes another name."""

    def version(self, topic_partition, *, is_future=False, checkpoint=True, is_stray=False):
        log = self.current_logs.pop(topic_partition, None) if forgets else self.get_log(topic_partition)
        if log is None:
            return None
        self.cleaner.abort_cleaning(topic_partition)
        self.cleaner.update_checkpoints(log.parent_dir, topic_partition)
        log_dir = log.parent_dir
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

_PUT_ASIDE = (
    _BEGIN + "append orders-0 [3x10]\nappend users-0 [5x10]\ndelete_records users-0 2\ntick 30000\nstray orders-0\n"
    "tick 60000\ncreate orders-0\nappend orders-0 [1x10]\ntick 30000\nstray users-0\nkill\nstart\ntick 60000\n"
)

takes_away = Rung(
    "Rung 4, a log is deleted",
    LogManager.async_delete,
    why="A deleted log must not be found any more, but a reader that already has it must still be able to read.",
    invariants=(
        "Afterwards the log is not found under its partition any more. The method returns the log, or None if there "
        "was none.",
        "The cleaner aborts its work on this log, and its checkpoint has no line for the log any more.",
        "The directory gets a new name: it ends in `-delete`, or in `-stray` if `is_stray`. A stray log is kept, but "
        "not used.",
        "A log with `-delete` is added to the queue `logs_to_be_deleted`. A later task deletes its files.",
        "If `checkpoint` is True, the checkpoint files of its log directory are written, without this log.",
    ),
    chosen=(_DELETED, _PUT_ASIDE, "cleaner off\n" + _BEGIN + "append orders-0 [3x10]\ndelete orders-0\ntick 60000\n"),
    must_call=(LogCleaner.abort_cleaning,),
    returns=(Log, type(None)),
    profiles=_drawn({"delete": 12, "create": 12}, {"delete": 12, "create": 12}, {"delete": 8, "create": 8, "stop": 8}),
    harness=LOG_DIRECTORY,
    solution=async_delete,
    beliefs=(
        Belief(
            _takes_away(at_once=True),
            "You delete the files at once. Then a reader of these files fails. Kafka waits for the broker's "
            "`log.segment.delete.delay.ms`.",
        ),
        Belief(
            _takes_away(waits=False),
            "You rename the directory, but it is never deleted. Add the log to `self.logs_to_be_deleted`.",
        ),
        Belief(
            _takes_away(notes=False),
            "You do not write the checkpoints. They still have the partition, and after a crash a new log of that "
            "name would get the old offsets.",
        ),
        Belief(_takes_away(forgets=False), "Your log is still found. Remove it from the map first."),
        Belief(
            _takes_away(name=log_stray_dir_name),
            "You name the directory `-stray`. The next start does not use such a log, but never deletes it.",
        ),
    ),
    hints=(
        "`self.current_logs.pop(topic_partition, None)` removes the log (if `is_future`: `self.future_logs`).",
        "The cleaner: `self.cleaner.abort_cleaning(topic_partition)`, and with `checkpoint` "
        "`self.cleaner.update_checkpoints(log.parent_dir, topic_partition)`; neither for a future log.",
        "`log.rename_dir(log_delete_dir_name(topic_partition), should_reinitialize=False)`, then "
        "`self.logs_to_be_deleted.add(log)`. For a stray log use `log_stray_dir_name`, and do not add it to the "
        "queue.",
        "At the end, with `checkpoint`: `self._checkpoint_dir(log.parent_dir)`, which writes both checkpoints.",
    ),
)


LADDER = (starts, flushes, retains, takes_away)
"""The rungs in the order in which they are climbed."""
