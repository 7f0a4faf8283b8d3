"""Which settings a subscription to metrics of clients may have."""

import re
from collections.abc import Mapping

from minikafka.common.errors import InvalidConfigurationException, InvalidRequestException
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.common.kafka_settings import kafka_definition

_INTERVAL_MS, _MATCH = "interval.ms", "match"
_INTERVALS_MS = range(100, 3_600_000 + 1)
_MATCHED = {
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
}
"""What of a client can be matched."""


def validate(subscription_name: str, props: Mapping[str, str]) -> None:
    """Check `props`, all own settings of a subscription.

    Whether what a client is matched with is a regular expression, Python says here, and Java in Kafka.

    Raises InvalidRequestException for an empty name of the subscription, for names of settings that Kafka does not
    know, and for an interval that is too short or too long; InvalidConfigurationException for what clients cannot be
    matched with; ConfigException for a value that cannot be parsed. Kafka: `ClientMetricsConfigs.validate`.
    """
    if not subscription_name:
        raise InvalidRequestException("Subscription name can't be empty")
    definition = kafka_definition("client_metrics")
    for name in in_javas_order(props):
        if name not in definition.config_keys:
            raise InvalidRequestException(f"Unknown client metrics configuration: {name}")
    values = definition.parse(props)
    if _INTERVAL_MS in props and values[_INTERVAL_MS] not in _INTERVALS_MS:
        limits = "interval must be between 100 and 3600000 (1 hour)"
        raise InvalidRequestException(f"Invalid value {values[_INTERVAL_MS]} for {_INTERVAL_MS}, {limits}")
    patterns = values[_MATCH] if _MATCH in props else []
    assert isinstance(patterns, list)
    for pattern in patterns:
        if not _is_matching_pattern(pattern):
            raise InvalidConfigurationException(f"Illegal client matching pattern: {pattern}")


def _is_matching_pattern(text: str) -> bool:
    """Whether it is `NAME=EXPRESSION`. Kafka: `ClientMetricsConfigs.parseMatchingPatterns`."""
    parts = text.rstrip("=").split("=")
    if len(parts) != 2 or parts[0].strip() not in _MATCHED:
        return False
    try:
        re.compile(parts[1].strip())
    except re.error:
        return False
    return True
