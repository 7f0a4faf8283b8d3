"""Whether a consumer sees records of transactions that are not decided yet."""

from enum import IntEnum


class IsolationLevel(IntEnum):
    """What a consumer asks for; the values are those on the wire. Kafka: `org.apache.kafka.common.IsolationLevel`."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
