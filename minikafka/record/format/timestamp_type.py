"""What a batch's timestamps mean."""

import enum

from minikafka.common.errors import NoSuchElementException


class TimestampType(enum.Enum):
    """Who set a record's timestamp; `str()` gives the name that configs use. Kafka: `TimestampType`."""

    NO_TIMESTAMP_TYPE = (-1, "NoTimestampType")
    CREATE_TIME = (0, "CreateTime")
    LOG_APPEND_TIME = (1, "LogAppendTime")

    def __init__(self, type_id: int, type_name: str):
        self.id = type_id
        self.type_name = type_name

    @staticmethod
    def for_name(name: str) -> "TimestampType":
        """The type that configs call `name`; NoSuchElementException otherwise. Kafka: `TimestampType.forName`."""
        for timestamp_type in TimestampType:
            if timestamp_type.type_name == name:
                return timestamp_type
        raise NoSuchElementException(f"Invalid timestamp type {name}")

    def __str__(self) -> str:
        return self.type_name
