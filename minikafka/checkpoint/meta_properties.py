"""Which cluster and node a log directory belongs to, and which of the node's directories it is."""

from dataclasses import dataclass
from pathlib import Path

from minikafka.common.errors import IllegalArgumentException, KafkaException, NumberFormatException
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.java.java_properties import read_properties_file, write_properties_file
from minikafka.common.uuid import uuid_from_string

META_PROPERTIES_NAME = "meta.properties"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The contents of `meta.properties`, a Java properties file in each log directory.

    Version 1 (Kafka 3 and later with KRaft) has `cluster.id`, `node.id` and mostly `directory.id`, a base64 UUID;
    version 0 (ZooKeeper) calls the node `broker.id` and may lack all of them.

    Kafka: `org.apache.kafka.metadata.properties.MetaProperties`.
    """

    cluster_id: str | None
    node_id: int | None
    directory_id: str | None = None
    version: int = 1

    def __post_init__(self) -> None:
        if self.version != 0 and self.cluster_id is None:
            raise KafkaException("cluster.id was not found.")
        if self.version != 0 and self.node_id is None:
            raise KafkaException("node.id was not found.")

    @staticmethod
    def read(file: Path) -> "MetaProperties":
        """What the file says; a missing version is 0.

        Raises OSError, KafkaException for an unknown version, a missing or malformed value (Java: RuntimeException).
        Kafka: `MetaProperties.Builder(Properties)`.
        """
        properties = read_properties_file(file)
        version = _int_property(properties, "version", "0")
        if version not in (0, 1):
            raise KafkaException(f"Unknown meta.properties version number {version}")
        node_id_key = "node.id" if version else "broker.id"
        node_id = None
        if version or node_id_key in properties:
            node_id = _int_property(properties, node_id_key)
        directory_id = properties.get("directory.id")
        try:
            directory_id = None if directory_id is None else uuid_from_string(directory_id)
        except IllegalArgumentException as error:
            raise KafkaException(f"Unable to read {META_PROPERTIES_NAME}: {error}") from error
        return MetaProperties(properties.get("cluster.id"), node_id, directory_id, version)

    def format(self, log_dir: Path, now_ms: int) -> None:
        """Make `log_dir`, a new log directory, one of this cluster, node and id; one that has the file stays as it is.

        Raises OSError. Kafka: `kafka.tools.StorageTool`.
        """
        file = log_dir / META_PROPERTIES_NAME
        if not file.exists():
            log_dir.mkdir(parents=True, exist_ok=True)
            self.write(file, now_ms)

    def write(self, file: Path, now_ms: int) -> None:
        """Replace the file; `now_ms` is the time in its comment. Raises OSError. Kafka: `MetaProperties.toProperties`.

        The order of the lines has no meaning; they are written in Java's order.
        """
        properties = {
            "broker.id" if self.version == 0 else "node.id": self.node_id,
            "directory.id": self.directory_id,
            "version": self.version,
            "cluster.id": self.cluster_id,
        }
        present = {key: str(value) for key, value in properties.items() if value is not None}
        write_properties_file(present, file, now_ms)


def _int_property(properties: dict[str, str], key: str, default: str | None = None) -> int:
    text = properties.get(key, default)
    if text is None:
        raise KafkaException(f"Failed to find {key}")
    try:
        return parse_int(text.strip() if key == "version" else text)  # blanks at a value's end belong to it
    except NumberFormatException as error:
        raise KafkaException(f"Unable to read {key} as a base-10 number.") from error
