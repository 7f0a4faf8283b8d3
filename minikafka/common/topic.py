"""What a topic may be called, and which topics are Kafka's own."""

import re

from minikafka.common.errors import InvalidTopicException

GROUP_METADATA_TOPIC_NAME = "__consumer_offsets"
TRANSACTION_STATE_TOPIC_NAME = "__transaction_state"
SHARE_GROUP_STATE_TOPIC_NAME = "__share_group_state"
CLUSTER_METADATA_TOPIC_NAME = "__cluster_metadata"
CLUSTER_METADATA_DIRECTORY = f"{CLUSTER_METADATA_TOPIC_NAME}-0"
MAX_NAME_LENGTH = 249
_INTERNAL_TOPICS = {GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME, SHARE_GROUP_STATE_TOPIC_NAME}
_LEGAL_NAME = re.compile("[a-zA-Z0-9._-]+")


def is_internal(topic: str) -> bool:
    """Whether Kafka keeps its own data in `topic`, so that clients may not write to it. Kafka: `Topic.isInternal`."""
    return topic in _INTERNAL_TOPICS


def validate(name: str) -> None:
    """Raises InvalidTopicException unless a topic may be called `name`. Kafka: `Topic.validate`."""
    reason = _detect_invalid_topic(name)
    if reason is not None:
        raise InvalidTopicException(f"Topic name is invalid: {reason}")


def has_collision_chars(topic: str) -> bool:
    """Whether `topic` has a dot or an underscore, which names of metrics do not tell apart.

    Kafka: `Topic.hasCollisionChars`.
    """
    return "_" in topic or "." in topic


def unify_collision_chars(topic: str) -> str:
    """What metrics call `topic`: two topics for which this is equal collide. Kafka: `Topic.unifyCollisionChars`."""
    return topic.replace(".", "_")


def _detect_invalid_topic(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in {".", ".."}:
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL_NAME.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
