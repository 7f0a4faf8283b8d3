"""The requests and responses of all of Kafka's APIs: `FetchRequest`, `FetchResponse`. Kafka: `FetchRequestData`, …."""

from minikafka.messages.message_codec import message_classes

__getattr__ = message_classes("apis")
