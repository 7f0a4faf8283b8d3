"""The ladder of the lesson *Start and stop*: how a broker stops."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import LOG_DIRECTORY
from minikafka.lab.rebuild.rung import Rung
from minikafka.log.cleaner.log_cleaner import LogCleaner
from minikafka.log.log import Log
from minikafka.log.manager.log_manager import LogManager, write_clean_shutdown_file

_TOPICS = (
    "topic audit retention.ms=100000\ntopic orders flush.ms=60000\n"
    "topic state cleanup.policy=compact,delete retention.ms=50000\ntopic users flush.ms=20000 retention.bytes=300\n"
)
_BEGIN = _TOPICS + "start\ncreate orders-0\ncreate users-0\n"


def shutdown(self, broker_epoch=-1):
    if self.cleaner is not None:
        self.cleaner.shutdown()
    try:
        for log_dir in self.live_log_dirs:
            for log in self._logs_in_dir(log_dir).values():
                log.flush(force_flush_active_segment=True)
                log.close()
            self._checkpoint_dir(log_dir)
            write_clean_shutdown_file(log_dir, broker_epoch)
    finally:
        for log in (*self.stray_logs.values(), *self.logs_to_be_deleted):
            log.close_handlers()
        self.log_dirs.destroy_locks()


def _stops(
    *, cleans_no_more=True, flushes=True, closes=True, notes=LogManager._checkpoint_dir, epoch=lambda given: given
):
    """A version that leaves out one of the steps, or notes something else."""

    def version(self, broker_epoch=-1):
        if cleans_no_more and self.cleaner is not None:
            self.cleaner.shutdown()
        for log_dir in self.live_log_dirs:
            for log in self._logs_in_dir(log_dir).values():
                if flushes:
                    log.flush(force_flush_active_segment=True)
                if closes:
                    log.close()
            notes(self, log_dir)
            if epoch is not None:
                write_clean_shutdown_file(log_dir, epoch(broker_epoch))
        for log in (*self.stray_logs.values(), *self.logs_to_be_deleted):
            log.close_handlers()
        self.log_dirs.destroy_locks()

    return version


def _recovery_points_alone(self, log_dir):
    self.checkpoints.checkpoint_recovery_offsets_in_dir(log_dir, self._logs_in_dir(log_dir))


_STOPPED = (
    _BEGIN + "append orders-0 [3x10]\nappend users-0 [5x10]\ntick 30000\nroll orders-0\nappend orders-0 [2x10]\n"
    "delete_records orders-0 1\nstop\nstart\nappend users-0 [1x10]\ndelete_records users-0 3\nstop\nstart\nkill\n"
    "start\nappend orders-0 [1x10]\ndelete users-0\nstop\n"
)

stops = Rung(
    "Rung 1, a clean stop",
    LogManager.shutdown,
    why="This method writes all that the next start trusts without a check. In this rung no disk fails.",
    invariants=(
        "The cleaner stops before the logs are closed.",
        "In each live log directory, in this order: every log is flushed to its end and closed; both checkpoints are "
        "written; the marker of a clean stop is written, with `broker_epoch`.",
        "The marker is written last: it tells the next start that everything else is correct.",
        "The locks are released at the end, even after an exception. Before that, call `close_handlers()` of the "
        "logs that are stray or wait to be deleted. (This step is minikafka's; Kafka does not do it.)",
    ),
    chosen=(_STOPPED, "cleaner off\n" + _BEGIN + "append orders-0 [3x10]\nstop\nstart\n"),
    must_call=(LogCleaner.shutdown, Log.close, Log.close_handlers),
    profiles=tuple(
        {"fixed": {}, "weights": weights}
        for weights in ({"stop": 14}, {"stop": 14, "delete_records": 16}, {"stop": 10, "delete": 6, "kill": 6})
    ),
    harness=LOG_DIRECTORY,
    solution=shutdown,
    beliefs=(
        Belief(
            _stops(cleans_no_more=False),
            "You do not stop the cleaner. One of its threads may still be replacing segments of a log that you close.",
        ),
        Belief(
            _stops(flushes=False),
            "You write recovery points without flushing the logs. Flush first: then each recovery point is the log "
            "end.",
        ),
        Belief(
            _stops(notes=_recovery_points_alone),
            "You do not write the log start offsets. Records that were deleted since the last write can be read "
            "again after the next start.",
        ),
        Belief(
            _stops(notes=lambda self, log_dir: None),
            "You write no checkpoints. They have the values of the task's last run, up to a minute ago.",
        ),
        Belief(
            _stops(epoch=None),
            "You write no marker. The next start treats this stop as a crash, and recovers the logs.",
        ),
        Belief(
            _stops(epoch=lambda given: -1),
            "Your marker has no broker epoch. With it the broker proves to the controller that no other run came in "
            "between.",
        ),
        Belief(
            _stops(closes=False),
            "You do not close the logs. Their index files keep the size that was reserved for them, and no snapshot "
            "of producers is taken.",
        ),
    ),
    hints=(
        "First `self.cleaner.shutdown()` (the cleaner may be None). Then go through `self.live_log_dirs`; the logs "
        "of one are `self._logs_in_dir(log_dir).values()`.",
        "For each log: `log.flush(force_flush_active_segment=True)` and `log.close()`.",
        "`self._checkpoint_dir(log_dir)` writes both checkpoints, and "
        "`write_clean_shutdown_file(log_dir, broker_epoch)` the marker.",
        "In a `finally`: call `close_handlers()` of each log in `self.stray_logs.values()` and in "
        "`self.logs_to_be_deleted`, then `self.log_dirs.destroy_locks()`.",
    ),
)

LADDER = (stops,)
"""The rungs in the order in which they are climbed."""
