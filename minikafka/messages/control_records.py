"""What lies in control records of the metadata log and of its snapshots. Kafka: `LeaderChangeMessage`, …."""

from minikafka.messages.message_codec import message_classes

__getattr__ = message_classes("control-records")
