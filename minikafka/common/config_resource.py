"""What a setting belongs to."""

from enum import IntEnum
from typing import NamedTuple


class ConfigResourceType(IntEnum):
    """The kind of thing that has settings. Kafka: `org.apache.kafka.common.config.ConfigResource.Type`."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @classmethod
    def for_id(cls, number: int) -> "ConfigResourceType":
        """The kind with that number, UNKNOWN for one that Kafka 4.3.0 does not know. Kafka: `Type.forId`."""
        return cls(number) if number in cls._value2member_map_ else cls.UNKNOWN


class ConfigResource(NamedTuple):
    """A topic or broker as the owner of settings; the broker named "" stands for all brokers.

    Kafka: `org.apache.kafka.common.config.ConfigResource`.
    """

    type: ConfigResourceType
    name: str

    @staticmethod
    def topic(name: str) -> "ConfigResource":
        """The owner of the settings of the topic `name`."""
        return ConfigResource(ConfigResourceType.TOPIC, name)
