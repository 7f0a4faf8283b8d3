"""Brings what the metadata log says to the parts of a broker, in the right order."""

import logging

from minikafka.common.config_resource import ConfigResource, ConfigResourceType
from minikafka.log.log import Log
from minikafka.log.manager.log_manager import LogManager
from minikafka.metadata.configurations_delta import ConfigurationsDelta
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig
from minikafka.server.replica_manager import ReplicaManager

logger = logging.getLogger(__name__)


class BrokerMetadataPublisher:
    """Takes the images of the cluster one after another, and makes the broker what they say.

    The cache comes first, so that whoever is told of a change finds it there. With the first image, the logs are loaded
    before any replica gets its role. What goes wrong with one part is logged, and the others go on; only a failure to
    load the logs is raised, since a broker cannot live with it.

    Simpler than Kafka: there are no coordinators, quotas, credentials, tokens and access rules to be told. Of a
    broker's settings that can be changed while it runs, those of its logs take effect.

    Kafka: `kafka.server.metadata.BrokerMetadataPublisher`, with `DynamicConfigPublisher`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        dynamic_config: DynamicBrokerConfig,
        metadata_cache: MetadataCache,
        log_manager: LogManager,
        replica_manager: ReplicaManager,
    ):
        """`dynamic_config` is told of the settings of this broker, and of all brokers."""
        self._config = config
        self._dynamic_config = dynamic_config
        self._metadata_cache = metadata_cache
        self._log_manager = log_manager
        self._replica_manager = replica_manager
        self._first_publish = True

    def on_metadata_update(self, delta: MetadataDelta, new_image: MetadataImage) -> None:
        """Make the broker what `new_image` says; `delta` leads to it from the image before.

        Raises what loading the logs raises. Kafka: `BrokerMetadataPublisher.onMetadataUpdate`.
        """
        # 1. The cache, for everybody who asks.
        self._metadata_cache.set_image(new_image)
        # 2. The first time: load the logs, and begin the background work.
        if self._first_publish:
            logger.info("Publishing initial metadata at offset %d", new_image.offset)
            self._initialize_managers(new_image)
        # 3. Replicas get their roles.
        if delta.topics_delta is not None:
            try:
                self._replica_manager.apply_delta(delta.topics_delta, new_image)
            except Exception:
                logger.exception("Error applying topics delta in MetadataDelta up to %d", new_image.offset)
        # 4. Settings.
        if delta.configs_delta is not None:
            self._update_configs(delta.configs_delta, new_image)
        # 5. The first time: high watermarks are known from now on, and may be written down.
        if self._first_publish:
            self._replica_manager.start_high_watermark_check_point_thread()
        self._first_publish = False

    def _initialize_managers(self, new_image: MetadataImage) -> None:
        """Kafka: `BrokerMetadataPublisher.initializeManagers`."""

        def directory_id_of(topic_id: str, partition_id: int) -> str | None:
            partition = new_image.topics.get_partition(topic_id, partition_id)
            if partition is None or self._config.broker_id not in partition.replicas:
                return None
            return partition.directory(self._config.broker_id)

        self._log_manager.startup(
            sorted(self._metadata_cache.get_all_topics()), lambda log: self._is_stray(log, new_image)
        )
        self._log_manager.recover_abandoned_future_logs(directory_id_of)
        self._replica_manager.startup()

    def _is_stray(self, log: Log, new_image: MetadataImage) -> bool:
        """True for a log whose replica this broker is not to have. One without a topic id never got any records.

        Kafka: `LogManager.isStrayReplica`.
        """
        if log.topic_id is None:
            return True
        partition = new_image.topics.get_partition(log.topic_id, log.topic_partition.partition)
        return partition is None or self._config.broker_id not in partition.replicas

    def _update_configs(self, delta: ConfigurationsDelta, new_image: MetadataImage) -> None:
        """Kafka: `DynamicConfigPublisher.onMetadataUpdate`."""
        own = ConfigResource(ConfigResourceType.BROKER, str(self._config.broker_id))
        every_broker = ConfigResource(ConfigResourceType.BROKER, "")
        for resource in delta.changes:
            settings = new_image.configs.config_map_for_resource(resource)
            try:
                if resource.type is ConfigResourceType.TOPIC:
                    logger.info("Updating topic %s with new configuration : %s", resource.name, settings)
                    self._log_manager.update_topic_config(resource.name, settings)
                elif resource == own:
                    logger.info("Updating broker %s with new configuration : %s", resource.name, settings)
                    self._dynamic_config.update_broker_config(settings)
                elif resource == every_broker:
                    logger.info("Updating all brokers with new configuration : %s", settings)
                    self._dynamic_config.update_default_config(settings)
            except Exception:
                logger.exception("Error updating %s with new configuration: %s", resource, settings)
