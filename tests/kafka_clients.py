"""Kafka's own Java clients, for tests that ask a broker."""

from collections.abc import Mapping

from minikafka.jvm.kafka_jvm import KafkaJvm


class KafkaClients:
    """Kafka's own Java clients, in the JVM `kafka`, connected to a broker."""

    def __init__(self, kafka: KafkaJvm, bootstrap_servers: str):
        self.kafka = kafka
        self.bootstrap_servers = bootstrap_servers
        self._servers = {"bootstrap.servers": bootstrap_servers}

    def create_topic(self, name: str, config: Mapping[str, str] | None = None) -> None:
        """Make a topic of one partition and wait until it has a leader."""
        admin_class = self.kafka.find_class("org.apache.kafka.clients.admin.Admin")
        topic_class = self.kafka.find_class("org.apache.kafka.clients.admin.NewTopic")
        partitions = self.kafka.optional(1)
        topic = topic_class(name, partitions, self.kafka.optional(None)).configs(self.kafka.properties(config or {}))
        admin = admin_class.create(self.kafka.properties(self._servers))
        try:
            admin.createTopics([topic]).all().get()
        finally:
            admin.close()

    def producer(self, **settings):
        """A Kafka `KafkaProducer` of bytes; `linger_ms=5` stands for linger.ms=5. Close it after use."""
        serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
        properties = {
            **self._servers,
            "key.serializer": serializer,
            "value.serializer": serializer,
            "linger.ms": 1000,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        return self.kafka.find_class("org.apache.kafka.clients.producer.KafkaProducer")(
            self.kafka.properties(properties)
        )

    def send(self, producer, topic: str, records) -> None:
        """Send (timestamp in ms, key, value, headers) records as one batch and wait until it is acknowledged."""
        record_class = self.kafka.find_class("org.apache.kafka.clients.producer.ProducerRecord")
        header_class = self.kafka.find_class("org.apache.kafka.common.header.internals.RecordHeader")
        long_class = self.kafka.find_class("java.lang.Long")
        for timestamp, key, value, headers in records:
            java_headers = [header_class(name, _bytes(content)) for name, content in headers]
            when = long_class.valueOf(str(timestamp))
            producer.send(record_class(topic, 0, when, _bytes(key), _bytes(value), java_headers))
        producer.flush()

    def consume(self, topic: str, isolation: str = "read_uncommitted") -> list[tuple]:
        """All records of the topic, from its beginning, each as (offset, timestamp in ms, key, value)."""
        deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        properties = {
            **self._servers,
            "key.deserializer": deserializer,
            "value.deserializer": deserializer,
            "isolation.level": isolation,
            "enable.auto.commit": False,
        }
        partition = self.kafka.find_class("org.apache.kafka.common.TopicPartition")(topic, 0)
        consumer = self.kafka.find_class("org.apache.kafka.clients.consumer.KafkaConsumer")(
            self.kafka.properties(properties)
        )
        poll_time = self.kafka.find_class("java.time.Duration").ofMillis(200)
        try:
            consumer.assign([partition])
            consumer.seekToBeginning([partition])
            end = consumer.endOffsets([partition]).get(partition)
            records = []
            while consumer.position(partition) < end:
                records += [
                    (r.offset(), r.timestamp(), r.key(), r.value()) for r in consumer.poll(poll_time).records(partition)
                ]
            return records
        finally:
            consumer.close()


def _bytes(value):
    return None if value is None else bytearray(value)
