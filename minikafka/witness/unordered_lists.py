"""The lists of Kafka's answers whose order is that of a hash map. minikafka's answers have another order there."""

from collections.abc import Mapping, Sequence

from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys

UNORDERED: Mapping[ApiKeys, Sequence[str]] = {
    ApiKeys.PRODUCE: ("responses", "responses.partition_responses", "node_endpoints"),
    ApiKeys.FETCH: ("node_endpoints",),
    ApiKeys.LIST_OFFSETS: ("topics", "topics.partitions"),
    ApiKeys.METADATA: ("topics",),
    ApiKeys.CREATE_TOPICS: ("topics",),
    ApiKeys.DELETE_TOPICS: ("responses",),  # Kafka shuffles them, so that nobody learns from their order what there is
    ApiKeys.DELETE_RECORDS: ("topics", "topics.partitions"),
    ApiKeys.WRITE_TXN_MARKERS: ("markers", "markers.topics", "markers.topics.partitions"),
    ApiKeys.DESCRIBE_CONFIGS: ("results.configs",),
    ApiKeys.DESCRIBE_LOG_DIRS: ("results.topics", "results.topics.partitions"),
    ApiKeys.CREATE_PARTITIONS: ("results",),
    ApiKeys.LIST_CONFIG_RESOURCES: ("config_resources",),
}
"""API → fields of its response, outer lists before inner ones."""


def sort_unordered(api_key: ApiKeys, body: Message) -> None:
    """Sort these lists of a response, so that two responses can be compared: inner lists first."""
    for path in reversed(UNORDERED.get(api_key, ())):
        *outer, field = path.split(".")
        holders = [body]
        for name in outer:
            holders = [each for holder in holders for each in getattr(holder, name)]
        for holder in holders:
            getattr(holder, field).sort(key=str)
