"""A round of Kafka's own cleaner over a partition's directory, told as `minikafka clean --json` tells it."""

from collections.abc import Mapping
from pathlib import Path

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.log.log_file_utils import DELETED_FILE_SUFFIX
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_log import KafkaLog
from minikafka.witness.kafka.kafka_time import JavaTime

_IO_BUFFER_SIZE = 256 * 1024
_MAX_MESSAGE_SIZE = 1024 * 1024 + 12


class KafkasCleaning:
    """Kafka's `UnifiedLog`, loaded, cleaned once by Kafka's `Cleaner`, closed; replaced files are taken away."""

    def __init__(self, kafka: KafkaJvm):
        self._kafka = kafka

    def __call__(
        self,
        directory: Path,
        config: Mapping[str, object],
        now_ms: int,
        known: Mapping[str, object],
        *,
        map_memory: int,
        high_watermark: int | None = None,
        first_dirty_offset: int | None = None,
    ) -> dict:
        """Raises minikafka's exception of the name and message of Kafka's."""
        time = ManualTime(now_ms)
        scheduler = ManualScheduler(time)
        settings = {"cleanup.policy": "compact", **config}
        log = KafkaLog.create(self._kafka, directory, settings, scheduler=scheduler, time=time, **known)
        scheduler.run_due_tasks()
        try:
            with kafka_errors():
                log.update_high_watermark(log.log_end_offset if high_watermark is None else high_watermark)
                told = self._clean(log, time, first_dirty_offset, map_memory)
        except BaseException:
            log.unified_log.closeHandlers()
            raise
        told["segments"] = [[segment.base_offset, segment.size] for segment in log.log_segments]
        log.close()
        scheduler.run_due_tasks()
        for file in directory.iterdir():
            if file.name.endswith(DELETED_FILE_SUFFIX):
                file.unlink()
        return told

    def _clean(self, log: KafkaLog, time: ManualTime, first_dirty_offset: int | None, map_memory: int) -> dict:
        kafka = self._kafka
        cleanable = log_to_clean(kafka, log.unified_log, first_dirty_offset, time.milliseconds())
        dirty = cleanable.firstDirtyOffset()
        end, stats = dirty, kafka.log_class("CleanerStats")(JavaTime(time))
        if cleanable.cleanableBytes():
            result = self._cleaner(time, map_memory).doClean(cleanable, time.milliseconds())
            end, stats = result.getKey(), result.getValue()
        return {
            "first_dirty_offset": dirty,
            "first_uncleanable_offset": cleanable.firstUncleanableOffset(),
            "next_dirty_offset": end,
            "bytes_read": stats.bytesRead(),
            "bytes_written": stats.bytesWritten(),
            "messages_read": stats.messagesRead(),
            "messages_written": stats.messagesWritten(),
            "map_bytes_read": _private(stats, "mapBytesRead"),
            "map_messages_read": stats.mapMessagesRead(),
            "invalid_messages_read": stats.invalidMessagesRead(),
        }

    def _cleaner(self, time: ManualTime, map_memory: int):
        kafka = self._kafka
        java_time = JavaTime(time)
        throttler = kafka.find_class("org.apache.kafka.storage.internals.utils.Throttler")(
            1e300, 300, "cleaner-io", "bytes", java_time
        )
        loader = kafka.find_class("java.lang.ClassLoader").getSystemClassLoader()
        consumer = kafka.find_class("java.lang.Class").forName("java.util.function.Consumer", True, loader)
        nothing = kafka.find_class("java.beans.EventHandler").create(
            consumer, kafka.find_class("java.util.Date")(0), "getTime"
        )
        offset_map = kafka.log_class("SkimpyOffsetMap")(map_memory)
        return kafka.log_class("Cleaner")(
            0, offset_map, _IO_BUFFER_SIZE, _MAX_MESSAGE_SIZE, 0.9, throttler, java_time, nothing
        )


def log_to_clean(kafka, unified_log, last_clean_offset: int | None, now: int):
    """Kafka's `LogToClean`: what its cleaner, which noted `last_clean_offset`, finds in a `UnifiedLog` now (ms)."""
    manager = kafka.find_class("java.lang.Class").forName("org.apache.kafka.storage.internals.log.LogCleanerManager")
    method = next(each for each in manager.getDeclaredMethods() if each.getName() == "cleanableOffsets")
    method.setAccessible(True)  # it is not public
    arguments = kafka.gateway.new_array(kafka.find_class("java.lang.Object"), 3)
    arguments[0], arguments[1], arguments[2] = unified_log, kafka.optional_long(last_clean_offset), now
    offsets = method.invoke(None, arguments)
    return kafka.log_class("LogToClean")(
        unified_log,
        *(
            _private(offsets, name)
            for name in ("firstDirtyOffset", "firstUncleanableDirtyOffset", "forceUpdateCheckpoint")
        ),
    )


def _private(java_object, field: str):
    found = java_object.getClass().getDeclaredField(field)
    found.setAccessible(True)
    return found.get(java_object)
