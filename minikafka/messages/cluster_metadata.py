"""The records of the cluster's metadata log: what a controller decided. Kafka: `org.apache.kafka.common.metadata.*`."""

from minikafka.messages.message_codec import Message, message_classes

MetadataRecord = Message
"""Any of them."""

__getattr__ = message_classes("cluster-metadata")
