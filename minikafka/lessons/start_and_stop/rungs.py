"""The ladder of the lesson *Start and stop*: how a broker stops."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild.harnesses import LOG_DIRECTORY
from minikafka.lab.rebuild.rung import Rung
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


def _stops(*, flushes=True, closes=True, notes=LogManager._checkpoint_dir, epoch=lambda given: given):
    """A version that leaves out one of the steps, or notes something else."""

    def version(self, broker_epoch=-1):
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
    why="All that the next start believes without reading it is written here. No disk fails in this rung.",
    invariants=(
        "Nothing compacts any more when the logs are closed.",
        "In each live log directory: every log is flushed to its end and closed; then the two checkpoints; then the "
        "marker, with `broker_epoch`.",
        "The marker is written last: where it stands, all the rest is true.",
        "The locks are released, whatever happened. Before that, logs that are stray or wait to be deleted are let "
        "go of: that step is minikafka's, Kafka leaves them alone.",
    ),
    chosen=(_STOPPED,),
    profiles=tuple(
        {"fixed": {}, "weights": weights}
        for weights in ({"stop": 14}, {"stop": 14, "delete_records": 16}, {"stop": 10, "delete": 6, "kill": 6})
    ),
    harness=LOG_DIRECTORY,
    solution=shutdown,
    beliefs=(
        Belief(
            _stops(flushes=False),
            "You note recovery points of logs that are not flushed. Flush first: then each is its log's end.",
        ),
        Belief(
            _stops(notes=_recovery_points_alone),
            "You forget the log starts. What was deleted since they were last written is back after the start.",
        ),
        Belief(
            _stops(notes=lambda self, log_dir: None),
            "You write no checkpoints. They keep what the task wrote last, up to a minute ago.",
        ),
        Belief(_stops(epoch=None), "You write no marker. The next start takes this stop for a crash, and recovers."),
        Belief(
            _stops(epoch=lambda given: -1),
            "Your marker has no broker epoch. By it a broker proves to the controller that nobody ran in between.",
        ),
        Belief(
            _stops(closes=False),
            "You do not close the logs. Their indexes keep the size to which they were allocated, and no snapshot of "
            "producers is taken.",
        ),
    ),
    hints=(
        "`self.cleaner.shutdown()` (it may be None), then for each of `self.live_log_dirs` the logs: "
        "`self._logs_in_dir(log_dir).values()`.",
        "Each: `log.flush(force_flush_active_segment=True)` and `log.close()`.",
        "`self._checkpoint_dir(log_dir)` writes both checkpoints, and "
        "`write_clean_shutdown_file(log_dir, broker_epoch)` the marker.",
        "In a `finally`: `close_handlers()` of `self.stray_logs.values()` and of all in `self.logs_to_be_deleted`, and "
        "`self.log_dirs.destroy_locks()`.",
    ),
)

LADDER = (stops,)
"""The rungs in the order in which they are climbed."""
