"""The version of the metadata with which a cluster is formatted, and what follows from it."""

from minikafka.messages.cluster_metadata import BrokerRegistrationChangeRecord, MetadataRecord

METADATA_VERSION = "metadata.version"
"""The name of the feature. Kafka: `MetadataVersion.FEATURE_NAME`."""

LATEST_PRODUCTION = 30
"""The level of 4.3-IV0, the only one of which minikafka writes records. Kafka: `MetadataVersion.LATEST_PRODUCTION`."""

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
