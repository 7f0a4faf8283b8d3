"""What a row of records changes about the cluster's state."""

from collections.abc import Iterable

from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from minikafka.metadata.broker_registration import BrokerRegistrationFencingChange
from minikafka.metadata.cluster_delta import ClusterDelta
from minikafka.metadata.configurations_delta import ConfigurationsDelta
from minikafka.metadata.features_image import FeaturesImage
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.topics_delta import TopicsDelta


class MetadataDelta:
    """The way from one image to the next: records are replayed, then applied.

    `topics_delta`, `cluster_delta` and `configs_delta` are None as long as no record has concerned them. The records
    are those that follow the image's in the metadata log, without a gap.

    Kafka: `org.apache.kafka.image.MetadataDelta`.
    """

    def __init__(self, image: MetadataImage):
        self.image = image
        self.topics_delta: TopicsDelta | None = None
        self.cluster_delta: ClusterDelta | None = None
        self.configs_delta: ConfigurationsDelta | None = None
        self._feature_levels = dict(image.features.finalized_versions)
        self._next_producer_id = image.next_producer_id
        self._replayed = 0

    def replay_all(self, records: Iterable[MetadataRecord]) -> "MetadataDelta":
        """Replays `records` in their order; the result is this delta."""
        for record in records:
            self.replay(record)
        return self

    def replay(self, record: MetadataRecord) -> None:
        """Takes the next record in. Kafka: `MetadataDelta.replay`.

        Raises IllegalStateException or RuntimeException when it changes something that is not there.
        """
        match record:
            case FeatureLevelRecord():
                self._feature_levels[record.name] = record.feature_level
            case RegisterBrokerRecord():
                self._get_or_create_cluster_delta().replay_register_broker(record)
            case UnregisterBrokerRecord():
                self._get_or_create_cluster_delta().replay_unregister_broker(record)
            case FenceBrokerRecord():
                change = BrokerRegistrationChangeRecord(
                    broker_id=record.id, broker_epoch=record.epoch, fenced=BrokerRegistrationFencingChange.FENCE
                )
                self._get_or_create_cluster_delta().replay_broker_registration_change(change, "fence")
            case UnfenceBrokerRecord():
                change = BrokerRegistrationChangeRecord(
                    broker_id=record.id, broker_epoch=record.epoch, fenced=BrokerRegistrationFencingChange.UNFENCE
                )
                self._get_or_create_cluster_delta().replay_broker_registration_change(change, "unfence")
            case BrokerRegistrationChangeRecord():
                self._get_or_create_cluster_delta().replay_broker_registration_change(record)
            case TopicRecord():
                self._get_or_create_topics_delta().replay_topic(record)
            case PartitionRecord():
                self._get_or_create_topics_delta().replay_partition(record)
            case PartitionChangeRecord():
                self._get_or_create_topics_delta().replay_partition_change(record)
            case ClearElrRecord():
                self._get_or_create_topics_delta().replay_clear_elr(record)
            case RemoveTopicRecord():
                topic_name = self._get_or_create_topics_delta().replay_remove_topic(record)
                self._get_or_create_configs_delta().replay_remove_topic(topic_name)
            case ConfigRecord():
                self._get_or_create_configs_delta().replay_config(record)
            case ProducerIdsRecord():
                self._next_producer_id = record.next_producer_id
        self._replayed += 1

    def apply(self) -> MetadataImage:
        """The cluster after what was replayed; its offset is that of the last record. Kafka: `MetadataDelta.apply`."""
        image = self.image
        return MetadataImage(
            offset=image.offset + self._replayed,
            features=FeaturesImage({name: level for name, level in self._feature_levels.items() if level > 0}),
            cluster=image.cluster if self.cluster_delta is None else self.cluster_delta.apply(),
            topics=image.topics if self.topics_delta is None else self.topics_delta.apply(),
            configs=image.configs if self.configs_delta is None else self.configs_delta.apply(),
            next_producer_id=self._next_producer_id,
        )

    def _get_or_create_topics_delta(self) -> TopicsDelta:
        if self.topics_delta is None:
            self.topics_delta = TopicsDelta(self.image.topics)
        return self.topics_delta

    def _get_or_create_cluster_delta(self) -> ClusterDelta:
        if self.cluster_delta is None:
            self.cluster_delta = ClusterDelta(self.image.cluster)
        return self.cluster_delta

    def _get_or_create_configs_delta(self) -> ConfigurationsDelta:
        if self.configs_delta is None:
            self.configs_delta = ConfigurationsDelta(self.image.configs)
        return self.configs_delta
