"""The version of the metadata with which a cluster is formatted, and what follows from it."""

from minikafka.messages.cluster_metadata import BrokerRegistrationChangeRecord, MetadataRecord

METADATA_VERSION = "metadata.version"
"""The name of the feature. Kafka: `MetadataVersion.FEATURE_NAME`."""

LATEST_PRODUCTION = 30
"""The level of 4.3-IV0, the only one of which minikafka writes records. Kafka: `MetadataVersion.LATEST_PRODUCTION`."""

SUPPORTED_FEATURES = {
    METADATA_VERSION: (7, LATEST_PRODUCTION),
    "kraft.version": (0, 1),
    "transaction.version": (0, 2),
    "group.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1),
    "share.version": (0, 1),
    "streams.version": (0, 1),
}
"""The levels that a broker of 4.3.0 tells its controller, both inclusive. Kafka: `BrokerFeatures`."""

FORMATTED_FEATURES = {
    METADATA_VERSION: LATEST_PRODUCTION,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}
"""The levels with which Kafka's storage tool formats a cluster, beside that of eligible leader replicas.

Kafka: `Formatter`, `BootstrapMetadata`.
"""

_RECORD_VERSIONS = {"RegisterBrokerRecord": 4, "PartitionRecord": 2, "PartitionChangeRecord": 2}


def record_version(record: MetadataRecord) -> int:
    """The version in which a record is written; 0 for kinds that have never changed.

    Kafka: `MetadataVersion.registerBrokerRecordVersion`, `partitionRecordVersion`, `partitionChangeRecordVersion`.
    """
    if isinstance(record, BrokerRegistrationChangeRecord):
        return _version_of_change(record)
    return _RECORD_VERSIONS.get(record.schema.name, 0)


def _version_of_change(record: BrokerRegistrationChangeRecord) -> int:
    """The first version that has what is changed: a record changes one thing. Kafka: `ReplicationControlManager`."""
    if record.fenced:
        return 0
    if record.in_controlled_shutdown:
        return 1
    return 2 if record.cordoned_log_dirs is None else 3
