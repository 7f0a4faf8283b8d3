"""Which settings a group may have of its own."""

import re
from collections.abc import Mapping
from functools import cache

from minikafka.common.config_def import ConfigDef, Type, invalid_value, parse_type
from minikafka.common.errors import IllegalArgumentException, InvalidConfigurationException
from minikafka.common.java.java_hash_map import in_javas_order
from minikafka.common.java.java_numbers import LONG_MAX, LONG_MIN
from minikafka.common.kafka_settings import config_key, kafka_settings

_OFFSET_RESET = "share.auto.offset.reset"
_BY_DURATION = "by_duration:"
_DURATION = re.compile(
    r"(?P<minus>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?:T(?=[-+\d])(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_SECONDS_OF = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
_NANOSECONDS = 1_000_000_000  # of a second
_LIMITED = (
    # of consumers, share groups and streams, in the order in which they are checked
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
)
_WITHOUT_DEFAULT_OF_BROKER = "assignment.interval.ms"  # then it is not checked, either
_MOST_STANDBY_REPLICAS = "group.streams.max.standby.replicas"


def validate(props: Mapping[str, str], of_broker: Mapping[str, object]) -> None:
    """Check `props`, all own settings of a group; where it has none, those of the broker count.

    `of_broker`: what stands in a broker's file, by its names; it has the limits for groups, too.

    Raises InvalidConfigurationException for names that Kafka does not know, values beyond the limits, and values that
    contradict each other; ConfigException for a value that cannot be parsed. Kafka: `GroupConfig.validate`.
    """
    for name in in_javas_order(props):
        if name not in kafka_settings("group"):
            raise InvalidConfigurationException(f"Unknown group config name: {name}")
    given = {**_defaults(of_broker), **props}
    values = _definition().parse(given)

    def number(name: str) -> int:
        value = values[name]
        assert isinstance(value, int)
        return value

    for name in filter(given.__contains__, _LIMITED):
        least, most = _limits_of(name)
        if least is not None and number(name) < _of_broker(least, of_broker):
            raise InvalidConfigurationException(f"{name} must be greater than or equal to {least}")
        if number(name) > _of_broker(most, of_broker):
            raise InvalidConfigurationException(f"{name} must be less than or equal to {most}")
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if number(session) <= number(heartbeat):
            raise InvalidConfigurationException(f"{session} must be greater than {heartbeat}")


def _defaults(of_broker: Mapping[str, object]) -> dict[str, object]:
    """Kafka: `GroupCoordinatorConfig.extractGroupConfigMap`."""
    return {
        name: _of_broker(f"group.{name}", of_broker)
        for name in kafka_settings("group")
        if f"group.{name}" in kafka_settings("broker") and not name.endswith(_WITHOUT_DEFAULT_OF_BROKER)
    }


def _limits_of(name: str) -> tuple[str | None, str]:
    """The broker's settings that are the least and the most value."""
    if name == "streams.num.standby.replicas":
        return None, _MOST_STANDBY_REPLICAS
    kind, what = name.split(".", 1)
    return f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"


def _of_broker(name: str, of_broker: Mapping[str, object]) -> int:
    value = parse_type(name, of_broker.get(name, kafka_settings("broker")[name].default), Type.INT)
    assert isinstance(value, int)
    return value


@cache
def _definition() -> ConfigDef:
    keys = map(config_key, kafka_settings("group").values())
    return ConfigDef(key._replace(validator=_offset_reset) if key.name == _OFFSET_RESET else key for key in keys)


def _offset_reset(name: str, value: object) -> None:
    """Kafka: `ShareGroupAutoOffsetResetStrategy.Validator`."""
    if value in ("earliest", "latest"):
        return
    try:
        is_valid = str(value).startswith(_BY_DURATION) and _nanoseconds(str(value)[len(_BY_DURATION) :]) >= 0
    except IllegalArgumentException:
        is_valid = False
    if not is_valid:
        raise invalid_value(
            name,
            value,
            f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or of "
            "the format 'by_duration:<PnDTnHnMn.nS>'.",
        )


def _nanoseconds(text: str) -> int:
    """The length of a duration in ISO 8601's form, which may be negative.

    Raises IllegalArgumentException for any other text, and for a duration of too many seconds. Java: `Duration.parse`.
    """
    match = _DURATION.fullmatch(text)
    parts = {} if match is None else {unit: match[unit] for unit in _SECONDS_OF if match[unit] is not None}
    if match is None or not parts:
        raise IllegalArgumentException(f"Text cannot be parsed to a Duration: {text}")
    seconds = [int(number) * _SECONDS_OF[unit] for unit, number in parts.items()]
    if not all(LONG_MIN <= each <= LONG_MAX for each in (*seconds, sum(seconds))):
        raise IllegalArgumentException(f"Text cannot be parsed to a Duration: {text}")
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    length = sum(seconds) * _NANOSECONDS + (-fraction if parts.get("seconds", "").startswith("-") else fraction)
    return -length if match["minus"] == "-" else length
