"""The clock and the scheduler that real Kafka is given: minikafka's own, which the JVM calls back."""

from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.witness.kafka.kafka_errors import kafka_errors


class JavaTime:
    """`org.apache.kafka.common.utils.Time` on a minikafka clock (`ManualTime`, say)."""

    def __init__(self, time: Time):
        self._time = time

    def milliseconds(self):
        return self._time.milliseconds()

    def hiResClockMs(self):  # noqa: N802 (Java's name)
        return self._time.hi_res_clock_ms()

    def nanoseconds(self):
        return self._time.hi_res_clock_ms() * 1_000_000

    def sleep(self, ms):
        self._time.sleep(ms)

    def toString(self):  # noqa: N802
        return "JavaTime"

    class Java:
        implements = ["org.apache.kafka.common.utils.Time"]


class JavaScheduler:
    """`org.apache.kafka.server.util.Scheduler` on a minikafka scheduler (`ManualScheduler`, say).

    Kafka keeps what `schedule` returns and cancels it when a log is closed, so each task gets a true `ScheduledFuture`:
    one that a Java thread pool would run in the far future, and that is checked for cancellation before the task is run
    here.
    """

    _NEVER_MS = 1 << 50

    def __init__(self, kafka, scheduler: Scheduler):
        self._kafka = kafka
        self._scheduler = scheduler
        self._tasks = []

    def startup(self):
        """Nothing to start."""

    def shutdown(self):
        """Nothing to shut down: the scheduler belongs to whoever made it."""

    def scheduleOnce(self, name, task, delay_ms=0):  # noqa: N802
        return self.schedule(name, task, delay_ms, -1)

    def schedule(self, name, task, delay_ms, period_ms):
        nothing = self._kafka.find_class("java.lang.Thread")()
        milliseconds = self._kafka.constant("java.util.concurrent.TimeUnit", "MILLISECONDS")
        future = self._kafka.executor.schedule(nothing, self._NEVER_MS, milliseconds)

        def run():
            if future.isCancelled():
                scheduled.cancel()
                return
            if period_ms < 0:
                future.cancel(False)
            with kafka_errors():
                task.run()

        scheduled = self._scheduler.schedule(name, run, delay_ms, period_ms)
        self._tasks.append((future, scheduled))
        return future

    def resizeThreadPool(self, new_size):  # noqa: N802
        """There is no thread pool."""

    def toString(self):  # noqa: N802
        return "JavaScheduler"

    def take_back_cancelled(self) -> None:
        """Remove what Kafka has cancelled from minikafka's scheduler too, so that `pending` leaves it out."""
        waiting = []
        for future, scheduled in self._tasks:
            if future.isCancelled():
                scheduled.cancel()
            else:
                waiting.append((future, scheduled))
        self._tasks = waiting

    class Java:
        implements = ["org.apache.kafka.server.util.Scheduler"]
