"""Apache Kafka's own `LogManager`, with the names and the result types of minikafka's."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import ConfigRepository
from minikafka.witness.kafka.kafka_errors import kafka_errors, to_python
from minikafka.witness.kafka.kafka_log import KafkaLog
from minikafka.witness.kafka.kafka_time import JavaScheduler, JavaTime

_METADATA = "org.apache.kafka.common.metadata"
_BROKER_ID = 1
_CHECKPOINT = "org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile"


class KafkaLogManager:
    """Kafka's log manager, which is used like minikafka's `LogManager`.

    - Arguments and results are minikafka's; a log is a `KafkaLog`, an Option is None or the value.
    - Java's exceptions are raised as minikafka's, with the same names and messages.
    - `log_manager` is Kafka's object itself.

    Clock and scheduler are passed in: with a manual pair, all background work happens when the clock is moved, in the
    order of minikafka's scheduler.
    """

    def __init__(
        self,
        kafka: KafkaJvm,
        log_dirs: Sequence[Path],
        initial_offline_dirs: Iterable[Path] = (),
        *,
        config_repository: ConfigRepository,
        initial_default_config: LogConfig,
        scheduler: Scheduler,
        time: Time,
        cleaner_config: CleanerConfig | None = None,
        recovery_threads_per_data_dir: int = 1,
        flush_check_ms: int = LONG_MAX,
        flush_recovery_offset_checkpoint_ms: int = 60_000,
        flush_start_offset_checkpoint_ms: int = 60_000,
        retention_check_ms: int = 300_000,
        initial_task_delay_ms: int = 30_000,
    ):
        self.kafka = kafka
        self._tasks = JavaScheduler(kafka, scheduler)
        self.log_dir_failure_channel = kafka.log_class("LogDirFailureChannel")(len(log_dirs))
        cleaner = cleaner_config or CleanerConfig.of({})
        builder = kafka.find_class("kafka.server.builders.LogManagerBuilder")()
        builder.setLogDirs([kafka.file(log_dir) for log_dir in log_dirs])
        builder.setInitialOfflineDirs([kafka.file(log_dir) for log_dir in initial_offline_dirs])
        builder.setConfigRepository(_JavaConfigRepository(kafka, config_repository))
        builder.setInitialDefaultConfig(kafka.log_class("LogConfig")(kafka.properties(initial_default_config.props)))
        builder.setCleanerConfig(kafka.log_class("CleanerConfig")(*astuple(cleaner)))
        builder.setRecoveryThreadsPerDataDir(recovery_threads_per_data_dir)
        builder.setFlushCheckMs(flush_check_ms)
        builder.setFlushRecoveryOffsetCheckpointMs(flush_recovery_offset_checkpoint_ms)
        builder.setFlushStartOffsetCheckpointMs(flush_start_offset_checkpoint_ms)
        builder.setRetentionCheckMs(retention_check_ms)
        builder.setProducerStateManagerConfig(86_400_000, False)
        builder.setScheduler(self._tasks)
        builder.setBrokerTopicStats(kafka.broker_topic_stats)
        builder.setLogDirFailureChannel(self.log_dir_failure_channel)
        builder.setTime(JavaTime(time))
        builder.setInitialTaskDelayMs(initial_task_delay_ms)
        with kafka_errors():
            self.log_manager = builder.build()

    # Startup and shutdown

    def startup(
        self, topic_names: Iterable[str] = (), is_stray: Callable[[KafkaLog], bool] = lambda log: False
    ) -> None:
        """Kafka: `LogManager.startup`."""
        names = self.kafka.find_class("java.util.HashSet")()
        for name in topic_names:
            names.add(name)
        scala_names = self.kafka.find_class("scala.jdk.javaapi.CollectionConverters").asScala(names)
        with kafka_errors():
            self.log_manager.startup(scala_names, _Function1(lambda log: is_stray(self._log(log))))

    def shutdown(self, broker_epoch: int = -1) -> None:
        """Kafka: `LogManager.shutdown`."""
        with kafka_errors():
            self.log_manager.shutdown(broker_epoch)

    def let_go(self) -> None:
        """Close all files and give up the locks, and write nothing: as far as this JVM is concerned, be killed."""
        for log in self.all_logs:
            log.unified_log.closeHandlers()
        locks = self.log_manager.dirLocks()
        for number in range(locks.size()):
            locks.apply(number).unlockAndClose()

    def take_back_cancelled(self) -> None:
        """Take the tasks that Kafka cancelled out of minikafka's scheduler, so that `pending` leaves them out."""
        self._tasks.take_back_cancelled()

    # Which logs there are

    @property
    def all_logs(self) -> list[KafkaLog]:
        """Kafka: `LogManager.allLogs`."""
        logs = self.kafka.find_class("scala.jdk.javaapi.CollectionConverters").asJava(self.log_manager.allLogs())
        return [self._log(log) for log in logs]

    @property
    def live_log_dirs(self) -> list[Path]:
        """Kafka: `LogManager.liveLogDirs`."""
        log_dirs = self.log_manager.liveLogDirs()
        return [Path(log_dirs.apply(number).getPath()) for number in range(log_dirs.size())]

    @property
    def log_dirs(self) -> "KafkaLogDirs":
        """What `LogManager.log_dirs` tells."""
        return KafkaLogDirs(self.log_manager)

    @property
    def configs(self) -> "KafkaLogConfigs":
        """What `LogManager.configs` does."""
        return KafkaLogConfigs(self)

    def get_log(self, topic_partition: TopicPartition, *, is_future: bool = False) -> KafkaLog | None:
        """Kafka: `LogManager.getLog`."""
        return self._log(_option(self.log_manager.getLog(self.partition(topic_partition), is_future)))

    # Creating, deleting, moving, truncating

    def maybe_update_preferred_log_dir(self, topic_partition: TopicPartition, log_dir: Path) -> None:
        """Kafka: `LogManager.maybeUpdatePreferredLogDir`."""
        with kafka_errors():
            self.log_manager.maybeUpdatePreferredLogDir(self.partition(topic_partition), str(log_dir))

    def get_or_create_log(
        self,
        topic_partition: TopicPartition,
        *,
        is_new: bool = False,
        is_future: bool = False,
        topic_id: str | None = None,
        target_log_directory_id: str | None = None,
    ) -> KafkaLog:
        """Kafka: `LogManager.getOrCreateLog`."""
        target = self.kafka.find_class("scala.Option").apply(self._uuid(target_log_directory_id))
        with kafka_errors():
            log = self.log_manager.getOrCreateLog(
                self.partition(topic_partition), is_new, is_future, self.kafka.optional(self._uuid(topic_id)), target
            )
        return self._log(log)

    def async_delete(
        self,
        topic_partition: TopicPartition,
        *,
        is_future: bool = False,
        checkpoint: bool = True,
        is_stray: bool = False,
    ) -> KafkaLog | None:
        """Kafka: `LogManager.asyncDelete`."""
        with kafka_errors():
            removed = self.log_manager.asyncDelete(self.partition(topic_partition), is_future, checkpoint, is_stray)
        return self._log(_option(removed))

    def async_delete_all(
        self,
        topic_partitions: Iterable[TopicPartition],
        error_handler: Callable[[TopicPartition, Exception], None],
        *,
        is_stray: bool,
    ) -> None:
        """Kafka: `LogManager.asyncDelete` (of many)."""
        partitions = self.kafka.find_class("java.util.ArrayList")()
        for topic_partition in topic_partitions:
            partitions.add(self.partition(topic_partition))

        def handle(partition, throwable):
            error_handler(TopicPartition(partition.topic(), partition.partition()), to_python(throwable))

        scala_partitions = self.kafka.find_class("scala.jdk.javaapi.CollectionConverters").asScala(partitions)
        with kafka_errors():
            self.log_manager.asyncDelete(scala_partitions, is_stray, _Function2(handle))

    def replace_current_with_future_log(self, topic_partition: TopicPartition) -> None:
        """Kafka: `LogManager.replaceCurrentWithFutureLog`."""
        with kafka_errors():
            self.log_manager.replaceCurrentWithFutureLog(self.partition(topic_partition))

    def recover_abandoned_future_logs(self, directory_id_of: Callable[[str, int], str | None]) -> None:
        """Kafka: `LogManager.recoverAbandonedFutureLogs`."""
        delta = self.kafka.find_class("org.apache.kafka.image.TopicsDelta")(
            self.kafka.constant("org.apache.kafka.image.TopicsImage", "EMPTY")
        )
        topics = set()
        for log in self.all_logs:
            name, partition = log.topic_partition
            topic_id = log.unified_log.topicId().get()
            if name not in topics:
                topics.add(name)
                topic_record = self.kafka.find_class(f"{_METADATA}.TopicRecord")()
                delta.replay(topic_record.setName(name).setTopicId(topic_id))
            directory_id = directory_id_of(topic_id.toString(), partition)
            if directory_id is not None:
                record = self.kafka.find_class(f"{_METADATA}.PartitionRecord")()
                record.setTopicId(topic_id).setPartitionId(partition).setLeader(_BROKER_ID)
                record.setReplicas([_BROKER_ID]).setIsr([_BROKER_ID]).setDirectories([self._uuid(directory_id)])
                delta.replay(record)
        with kafka_errors():
            self.log_manager.recoverAbandonedFutureLogs(_BROKER_ID, delta.apply())

    def truncate_to(self, partition_offsets: Mapping[TopicPartition, int], *, is_future: bool = False) -> None:
        """Kafka: `LogManager.truncateTo`."""
        with kafka_errors():
            self.log_manager.truncateTo(self._offsets(partition_offsets), is_future)

    def truncate_fully_and_start_at(
        self,
        topic_partition: TopicPartition,
        new_offset: int,
        log_start_offset: int | None = None,
        *,
        is_future: bool = False,
    ) -> None:
        """Kafka: `LogManager.truncateFullyAndStartAt`."""
        log_start = self.kafka.optional_long(log_start_offset)
        with kafka_errors():
            self.log_manager.truncateFullyAndStartAt(self.partition(topic_partition), new_offset, is_future, log_start)

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """Kafka: `LogManager.abortAndPauseCleaning`."""
        with kafka_errors():
            self.log_manager.abortAndPauseCleaning(self.partition(topic_partition))

    def resume_cleaning(self, topic_partition: TopicPartition) -> None:
        """Kafka: `LogManager.resumeCleaning`."""
        with kafka_errors():
            self.log_manager.resumeCleaning(self.partition(topic_partition))

    def note_cleaned(self, topic_partition: TopicPartition, offset: int) -> None:
        """Let the cleaner's checkpoint say that the partition is clean below `offset`, as after a cleaning."""
        entry = self.kafka.optional(next(iter(self._offsets_in_java({topic_partition: offset}).entrySet())))
        manager = self.log_manager.cleaner().cleanerManager()
        log_dir = self.get_log(topic_partition).unified_log.parentDirFile()
        manager.updateCheckpoints(log_dir, entry, self.kafka.optional(None))

    # Settings and failures

    def update_topic_config(self, topic: str, new_topic_config: Mapping[str, object]) -> None:
        """Kafka: `LogManager.updateTopicConfig`."""
        properties = self.kafka.find_class("java.util.Properties")()
        properties.putAll(self.kafka.properties(new_topic_config))
        with kafka_errors():
            self.log_manager.updateTopicConfig(topic, properties, False, False)

    def handle_log_dir_failure(self, log_dir: Path) -> None:
        """Kafka: `LogManager.handleLogDirFailure`."""
        with kafka_errors():
            self.log_manager.handleLogDirFailure(str(log_dir))

    def read_broker_epoch_from_clean_shutdown_files(self) -> int | None:
        """Kafka: `LogManager.readBrokerEpochFromCleanShutdownFiles`."""
        epoch = self.log_manager.readBrokerEpochFromCleanShutdownFiles()
        return epoch.getAsLong() if epoch.isPresent() else None

    # Java's objects

    def _offsets(self, partition_offsets: Mapping[TopicPartition, int]):
        """A map of Scala's."""
        converters = self.kafka.find_class("scala.jdk.javaapi.CollectionConverters")
        return converters.asScala(self._offsets_in_java(partition_offsets))

    def _offsets_in_java(self, partition_offsets: Mapping[TopicPartition, int]):
        """A map of Java's with Longs, read from a file as a checkpoint: py4j would make small numbers Integers."""
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "offsets")
            OffsetCheckpointFile(file).write(partition_offsets)
            return self.kafka.find_class(_CHECKPOINT)(self.kafka.file(file), None).read()

    def _log(self, unified_log) -> KafkaLog | None:
        return unified_log and KafkaLog(self.kafka, unified_log, self._tasks)

    def partition(self, topic_partition: TopicPartition):
        """Java's TopicPartition."""
        return self.kafka.find_class("org.apache.kafka.common.TopicPartition")(*topic_partition)

    def _uuid(self, text: str | None):
        return text and self.kafka.find_class("org.apache.kafka.common.Uuid").fromString(text)


class KafkaLogDirs:
    """The log directories of Kafka's log manager, with the names of minikafka's `LogDirs`."""

    def __init__(self, log_manager):
        self._log_manager = log_manager

    def is_log_dir_online(self, log_dir: Path) -> bool:
        """Kafka: `LogManager.isLogDirOnline`."""
        with kafka_errors():
            return self._log_manager.isLogDirOnline(str(log_dir))

    def directory_id(self, log_dir: Path) -> str | None:
        """Kafka: `LogManager.directoryId`."""
        directory_id = _option(self._log_manager.directoryId(str(log_dir)))
        return directory_id and directory_id.toString()

    def update_cordoned_log_dirs(self, log_dirs: Iterable[Path]) -> None:
        """Kafka: `LogManager.updateCordonedLogDirs`."""
        cordoned = self._log_manager.cordonedLogDirs().empty()
        for log_dir in log_dirs:
            cordoned = getattr(cordoned, "$plus")(str(log_dir))
        self._log_manager.updateCordonedLogDirs(cordoned)


class KafkaLogConfigs:
    """How Kafka's log manager gives logs their settings, with the names of minikafka's `LogConfigProvider`."""

    def __init__(self, manager: KafkaLogManager):
        self._manager = manager

    def initializing_log(self, topic_partition: TopicPartition) -> None:
        """Kafka: `LogManager.initializingLog`."""
        self._manager.log_manager.initializingLog(self._manager.partition(topic_partition))

    def topic_config_updated(self, topic: str) -> None:
        """Kafka: `LogManager.topicConfigUpdated`."""
        self._manager.log_manager.topicConfigUpdated(topic)

    def broker_config_updated(self) -> None:
        """Kafka: `LogManager.brokerConfigUpdated`."""
        self._manager.log_manager.brokerConfigUpdated()

    def finished_initializing_log(self, topic_partition: TopicPartition, log: KafkaLog | None) -> None:
        """Kafka: `LogManager.finishedInitializingLog`."""
        option = self._manager.kafka.find_class("scala.Option")
        maybe_log = option.apply(log and log.unified_log)
        with kafka_errors():
            self._manager.log_manager.finishedInitializingLog(self._manager.partition(topic_partition), maybe_log)


class _JavaConfigRepository:
    """Kafka's `ConfigRepository` on minikafka's."""

    def __init__(self, kafka: KafkaJvm, config_repository: ConfigRepository):
        self._kafka = kafka
        self._config_repository = config_repository

    def topicConfig(self, topic):  # noqa: N802 (Java's name)
        properties = self._kafka.find_class("java.util.Properties")()
        properties.putAll(self._kafka.properties(self._config_repository.topic_config(topic)))
        return properties

    class Java:
        implements = ["org.apache.kafka.metadata.ConfigRepository"]


class _Function1:
    """A function of one argument, as Scala's."""

    def __init__(self, function: Callable):
        self._function = function

    def apply(self, argument):
        return self._function(argument)

    class Java:
        implements = ["scala.Function1"]


class _Function2:
    """A function of two arguments, as Scala's."""

    def __init__(self, function: Callable):
        self._function = function

    def apply(self, one, other):
        return self._function(one, other)

    class Java:
        implements = ["scala.Function2"]


def _option(option):
    return None if option.isEmpty() else option.get()
