"""Makes the list of the settings that Kafka's brokers know: `python -m tests.tools.make_kafka_settings`."""

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.server.known_settings import FILE


def names(kafka: KafkaJvm) -> list[str]:
    """All of them, sorted. Kafka: `AbstractKafkaConfig.CONFIG_DEF`."""
    definition = kafka.constant("org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF")
    return sorted(definition.names())


if __name__ == "__main__":
    FILE.write_text("".join(f"{name}\n" for name in names(KafkaJvm.start())))
