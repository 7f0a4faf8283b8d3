"""Apache Kafka's own log cleaner for one log. Its thread is never started; the caller takes its turns."""

from minikafka.common.time import Time
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.witness.kafka.kafka_errors import kafka_errors, to_python
from minikafka.witness.kafka.kafka_time import JavaTime
from minikafka.witness.log.cleaning import CleaningStats, CleaningTurn


class KafkaLogCleaner:
    """Kafka's `LogCleaner` with one thread and one log, a `KafkaLog`; `time` is minikafka's clock."""

    def __init__(self, log, config: CleanerConfig, time: Time):
        self._kafka = log.kafka
        self._log = log.unified_log
        with kafka_errors():
            self._cleaner = self._new_cleaner(config, time)
            self._cleaner.removeMetrics()  # they would keep the log for as long as the JVM runs
            self._thread = self._new_thread()

    def take_turn(self) -> CleaningTurn:
        """Let the thread look for work once. Kafka: `LogCleaner.CleanerThread.tryCleanFilthiestLog`.

        Raises what kept the log from being cleaned, where Kafka's thread only logs a warning; the partition is then
        uncleanable.
        """
        before = self._thread.lastStats()
        cleaned = self._clean_filthiest_log()
        stats = self._thread.lastStats()
        return CleaningTurn(
            cleaned,
            None if stats.equals(before) else self._numbers(stats),
            self._thread.lastPreCleanStats().maxCompactionDelayMs(),
            self._log.logDirFailureChannel().hasOfflineLogDir(self._log.parentDir()),
        )

    def _clean_filthiest_log(self) -> bool:
        """Call the thread's private method, which does everything except handle exceptions.

        Kafka: `LogCleaner.CleanerThread.cleanFilthiestLog`.
        """
        from py4j.protocol import Py4JJavaError

        try:
            return self._private(self._thread, "cleanFilthiestLog")
        except Py4JJavaError as failure:
            thrown = failure.java_exception.getCause()  # of the reflective call's own exception
            if not thrown.getClass().getName().endswith("LogCleaningException"):
                raise to_python(thrown) from None
            self._cleaner.cleanerManager().markPartitionUncleanable(self._log.parentDir(), self._log.topicPartition())
            raise to_python(thrown.getCause()) from None

    def _new_cleaner(self, config: CleanerConfig, time: Time):
        kafka = self._kafka
        java_config = kafka.log_class("CleanerConfig")(
            1,
            config.dedupe_buffer_size,
            config.dedupe_buffer_load_factor,
            config.io_buffer_size,
            config.max_message_size,
            config.max_io_bytes_per_second,
            config.backoff_ms,
            True,
        )
        log_dirs = kafka.find_class("java.util.ArrayList")()
        log_dirs.add(self._log.parentDirFile())
        logs = kafka.find_class("java.util.concurrent.ConcurrentHashMap")()
        logs.put(self._log.topicPartition(), self._log)
        channel = self._log.logDirFailureChannel()
        return kafka.log_class("LogCleaner")(java_config, log_dirs, logs, channel, JavaTime(time))

    def _new_thread(self):
        thread = next(c for c in self._cleaner.getClass().getClasses() if c.getSimpleName() == "CleanerThread")
        return thread.getConstructors()[0].newInstance(self._objects(self._cleaner, 0))

    def _numbers(self, stats) -> CleaningStats:
        map_bytes_read = stats.getClass().getDeclaredField("mapBytesRead")
        map_bytes_read.setAccessible(True)
        return CleaningStats(
            stats.messagesRead(),
            stats.bytesRead(),
            stats.messagesWritten(),
            stats.bytesWritten(),
            stats.mapMessagesRead(),
            map_bytes_read.get(stats),
            stats.invalidMessagesRead(),
            stats.bufferUtilization(),
        )

    def _private(self, target, method: str):
        """Call a method without parameters, whatever its access."""
        found = target.getClass().getDeclaredMethod(method, self._array("java.lang.Class"))
        found.setAccessible(True)
        return found.invoke(target, self._objects())

    def _objects(self, *objects):
        return self._array("java.lang.Object", *objects)

    def _array(self, class_name: str, *items):
        array = self._kafka.gateway.new_array(self._kafka.find_class(class_name), len(items))
        for i, item in enumerate(items):
            array[i] = item
        return array
