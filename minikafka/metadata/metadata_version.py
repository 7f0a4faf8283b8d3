"""The version of the metadata with which a cluster is formatted, and what follows from it."""

from minikafka.messages.cluster_metadata import MetadataRecord

METADATA_VERSION = "metadata.version"
"""The name of the feature. Kafka: `MetadataVersion.FEATURE_NAME`."""

LATEST_PRODUCTION = 30
"""The level of 4.3-IV0, the only one of which minikafka writes records. Kafka: `MetadataVersion.LATEST_PRODUCTION`."""

_RECORD_VERSIONS = {
    "RegisterBrokerRecord": 4,
    "BrokerRegistrationChangeRecord": 3,
    "PartitionRecord": 2,
    "PartitionChangeRecord": 2,
}


def record_version(record: MetadataRecord) -> int:
    """The version in which a record is written; 0 for kinds that have never changed.

    Kafka: `MetadataVersion.registerBrokerRecordVersion`, `partitionRecordVersion`, and the like.
    """
    return _RECORD_VERSIONS.get(record.schema.name, 0)
